/// When a search has found a minimum to the last digits, and how many searches begun anew have ended since.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "ensemble/search/results/observations.h"

namespace slipway::ensemble {

/// Where the search stands. Run 0 is the search as a whole, which knows all trials. While it has converged, trials go
/// to run 1, 2, ..., of which each knows its own trials only.
struct SearchRuns {
  bool converged = false;  ///< the whole search, as far as it has come: a better trial may open it again
  std::size_t run = 1;     ///< the latest one that was begun anew
};

/// The runs as the rows tell them; a trial's origin says which run asked for it.
///
/// A run has converged when more than max(3, axes / 2) of its trials are as good as its best one, to within 3e-4 of
/// what the better half of its improvements have gained. Noise and valleys so keep it open: there the last trials
/// differ by more. One that was begun anew also ends as soon as these trials differ by less than a hundredth of what
/// it lacks to the best of run 0, and when its best trial lies beside that one (0.1 of the axes, root mean square)
/// without being better: it would only go down there again.
///
/// Trials that only fill the space, the first `design` of each run, do not end it. Cost: O(n * axes).
/// Source: runs that forget: Eriksson, Pearce, Gardner, Turner, Poloczek: "Scalable global optimization via local
/// Bayesian optimization", NeurIPS 2019; that none ends in a known minimum twice: Rinnooy Kan, Timmer: "Stochastic
/// global optimization methods", Mathematical Programming 39, 1987.
SearchRuns ReplayRuns(const Observations& known, TrialNumber design, const std::vector<Axis>& axes);

/// The run and the method that an origin names: "gp" is run 0 and gp, "gp#2" is run 2 and gp.
std::size_t RunOf(std::string_view origin);
std::string_view MethodOf(std::string_view origin);
std::string OriginOf(std::string_view method, std::size_t run);

}  // namespace slipway::ensemble
