/// Independent random points.
#pragma once

#include "ensemble/samplers/sampler.h"

namespace slipway::ensemble {

/// Draws each active parameter evenly from its domain; a point that an earlier trial has only when there is no other.
class RandomSampler : public Sampler {
 public:
  RandomSampler(SearchSpace space, std::uint64_t seed);
  std::optional<Point> Ask(TrialNumber trial, const TrialTable& earlier) override;

 private:
  SearchSpace space_;
  std::uint64_t seed_;
};

}  // namespace slipway::ensemble
