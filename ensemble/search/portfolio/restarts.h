/// The portfolio, begun anew elsewhere while what it has found is found to the last digits.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "ensemble/search/portfolio/portfolio.h"

namespace slipway::ensemble {

/// As long as the search has not converged (search_runs.h), all trials are the portfolio's, which knows all results.
/// While it has, each fifth still is, to find the last digits; the others go to a portfolio that is begun anew: it
/// fills the space with points of its own and knows only what was asked for it, so that the minimum which is known
/// does not draw it back. When that one has converged, too, the next is begun. A better trial, whoever found it, brings
/// the search back to the portfolio that knows all.
///
/// Which run a trial belongs to is kept with its origin. Trials that are open or have failed are known to all runs.
/// Cost: of an ask, O(n * axes), and what the portfolio costs.
class Restarts : public Proposer {
 public:
  /// `encoding` must outlive the search.
  Restarts(const Encoding& encoding, std::uint64_t seed) : encoding_(encoding), seed_(seed), whole_(encoding, seed) {}

  Coordinates Propose(const Observations& known, TrialNumber trial, std::uint32_t attempt) override;
  /// The method, and the run if it is not the whole search: "gp#2".
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
