/// Independent random points.
#pragma once

#include "ensemble/samplers/sampler.h"

namespace slipway::ensemble {

/// Draws each active parameter from its domain. A point that an earlier trial has is drawn anew, up to 64 times;
/// after that (a small or almost used-up space) the trial repeats it.
class RandomSampler : public Sampler {
 public:
  RandomSampler(SearchSpace space, std::uint64_t seed);
  std::optional<Point> Ask(TrialNumber trial, const TrialTable& earlier) override;

 private:
  Point Draw(TrialNumber trial, std::uint32_t draw) const;

  SearchSpace space_;
  std::uint64_t seed_;
};

}  // namespace slipway::ensemble
