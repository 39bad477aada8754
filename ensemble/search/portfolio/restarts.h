/// The portfolio with restarts: after it has converged, new runs search elsewhere.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "ensemble/search/portfolio/portfolio.h"

namespace slipway::ensemble {

/// Until the search has converged (search_runs.h), all trials go to the portfolio that knows all results.
/// While it has converged, each fifth trial still goes there, to find the last digits. The others go to a new
/// portfolio, the next run. It fills the space with its own points and knows only its own results, so the known minimum
/// does not attract it. When that run has ended, the next one begins. A better trial, from any run, returns the search
/// to the portfolio that knows all results.
///
/// The origin of a trial holds its run. All runs know the open and the failed trials.
/// Cost: of an ask, O(n * axes), and the cost of the portfolio.
class Restarts : public Proposer {
 public:
  /// `encoding` must outlive the search.
  Restarts(const Encoding& encoding, std::uint64_t seed) : encoding_(encoding), seed_(seed), whole_(encoding, seed) {}

  Coordinates Propose(const Observations& known, TrialNumber trial, std::uint32_t attempt) override;
  /// The method, with the run if that is not run 0: "gp#2".
  std::string_view Origin() const override { return origin_; }

 private:
  Portfolio& BegunAnew(std::size_t run);

  const Encoding& encoding_;
  std::uint64_t seed_;
  Portfolio whole_;
  std::size_t run_ = 0;  // of anew_
  std::unique_ptr<Portfolio> anew_;
  std::string origin_;
};

}  // namespace slipway::ensemble
