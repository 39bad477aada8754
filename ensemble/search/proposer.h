/// The port of the search methods: from what is known to the next place in the unit cube.
#pragma once

#include <cstdint>
#include <string_view>

#include "ensemble/search/results/observations.h"

namespace slipway::ensemble {

class Proposer {
 public:
  virtual ~Proposer() = default;
  /// A pure function of (what is known, trial, attempt) and of what the proposer was made with; it may keep caches that
  /// do not change the answer. `attempt`, from 0 and below 128, asks for another place because the one before is taken.
  /// Coordinates of inactive axes mean nothing. Where only some trials were proposed by this method (a portfolio,
  /// enqueued points), it learns from all of them.
  virtual Coordinates Propose(const Observations& known, TrialNumber trial, std::uint32_t attempt) = 0;
  /// As Sampler::Origin, of the last proposal.
  virtual std::string_view Origin() const { return {}; }
};

}  // namespace slipway::ensemble
