/// The port of the search methods: they propose the next place in the unit cube from the observations.
#pragma once

#include <cstdint>
#include <string_view>

#include "ensemble/search/results/observations.h"

namespace slipway::ensemble {

class Proposer {
 public:
  virtual ~Proposer() = default;
  /// Proposes a place for a trial: a pure function of the arguments and of those of the constructor. Caches must not
  /// change the result. `attempt`: from 0 and below 128; each one asks for another place, because the one before is not
  /// free. Coordinates of inactive axes have no meaning. The method learns from all trials, also from those that it did
  /// not propose (in a portfolio, enqueued points).
  virtual Coordinates Propose(const Observations& known, TrialNumber trial, std::uint32_t attempt) = 0;
  /// The origin of the last proposal, as Sampler::Origin.
  virtual std::string_view Origin() const { return {}; }
};

}  // namespace slipway::ensemble
