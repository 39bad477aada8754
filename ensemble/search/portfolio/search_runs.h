/// The runs of a search: whether it has converged, and how many restarted runs have ended since.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "ensemble/search/results/observations.h"

namespace slipway::ensemble {

/// The state of the search. Run 0 is the whole search and knows all trials. While it has converged, trials go to run 1,
/// 2, ...: each of these knows only its own trials.
struct SearchRuns {
  bool converged = false;  ///< the whole search has converged; a better trial may open it again
  std::size_t run = 1;     ///< the latest restarted run
};

/// Replays the runs from the rows. The origin of a trial holds its run.
///
/// A run has converged when more than max(3, axes / 2) of its trials are about as good as its best one. They may differ
/// by 3e-4 of the gain of the better half of its improvements. So noise and valleys keep a run open: there the last
/// trials differ by more. Only spaces with a continuous axis, and studies with one objective, converge.
/// A restarted run also ends in two other cases:
///   - These trials differ by less than a hundredth of what the run lacks to the best of run 0.
///   - Its best trial is near the best of run 0 (0.1 of the axes, root mean square) and not better. It would only find
///     the same minimum again.
///
/// The first `design` trials of each run only fill the space and do not end it.
/// Cost:   O(n * axes).
/// Source: runs that forget: Eriksson, Pearce, Gardner, Turner, Poloczek: "Scalable global optimization via local
///         Bayesian optimization", NeurIPS 2019. No second end in a known minimum: Rinnooy Kan, Timmer: "Stochastic
///         global optimization methods", Mathematical Programming 39, 1987.
SearchRuns ReplayRuns(const Observations& known, TrialNumber design, const std::vector<Axis>& axes);

/// The run and the method of an origin: "gp" is run 0 and gp, "gp#2" is run 2 and gp.
std::size_t RunOf(std::string_view origin);
std::string_view MethodOf(std::string_view origin);
std::string OriginOf(std::string_view method, std::size_t run);

}  // namespace slipway::ensemble
