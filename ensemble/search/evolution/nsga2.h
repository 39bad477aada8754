/// NSGA-II: a genetic search for the best compromises between several objectives.
#pragma once

#include <cstdint>
#include <vector>

#include "ensemble/search/numbers/draws.h"
#include "ensemble/search/proposer.h"

namespace slipway::ensemble {

struct Nsga2Settings {
  std::size_t population = 24;
};

/// The complete trials, in the order of their numbers, are taken up in blocks as large as the population; after each
/// block the best by front and room stay. What has ended of the last block counts at once, so nobody waits for a
/// generation. Parents win binary tournaments. With one objective it is a plain genetic search.
/// Trials with fewer objectives than others are not looked at.
/// Cost:   of an ask, 4 n x population x objectives comparisons.
/// Source: pareto.h; variation.h.
class Nsga2Proposer : public Proposer {
 public:
  /// `encoding` must outlive the proposer.
  Nsga2Proposer(const Encoding& encoding, std::uint64_t seed, Nsga2Settings settings = {});
  Coordinates Propose(const Observations& known, TrialNumber trial, std::uint32_t attempt) override;

  /// Best first.
  std::vector<const Observation*> Population(const std::vector<Observation>& complete) const;

 private:
  const Encoding& encoding_;
  std::uint64_t seed_;
  Nsga2Settings settings_;
};

}  // namespace slipway::ensemble
