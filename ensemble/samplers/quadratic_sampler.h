/// Quadratic models in a trust region.
#pragma once

#include "ensemble/samplers/sampler.h"
#include "ensemble/search/quadratic_search.h"

namespace slipway::ensemble {

/// Asks QuadraticSearch until it names a free point; after some attempts a random free one.
class QuadraticSampler : public Sampler {
 public:
  QuadraticSampler(SearchSpace space, std::uint64_t seed, Goal goal);
  std::optional<Point> Ask(TrialNumber trial, const TrialTable& earlier) override;

 private:
  Encoding encoding_;
  std::uint64_t seed_;
  ObservationLog log_;
  QuadraticSearch search_;
};

}  // namespace slipway::ensemble
