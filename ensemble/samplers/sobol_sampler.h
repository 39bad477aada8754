/// Points that fill the space evenly.
#pragma once

#include "ensemble/samplers/sampler.h"
#include "ensemble/search/cube/encoding.h"
#include "ensemble/search/numbers/sobol.h"

namespace slipway::ensemble {

/// Trial n gets scrambled Sobol point n, with a dimension for each axis; those of inactive parameters are not used. A
/// point that an earlier trial has is replaced by a random one that is free.
class SobolSampler : public Sampler {
 public:
  SobolSampler(SearchSpace space, std::uint64_t seed);
  std::optional<Point> Ask(TrialNumber trial, const TrialTable& earlier) override;

 private:
  Encoding encoding_;
  std::uint64_t seed_;
  ScrambledSobol points_;
};

}  // namespace slipway::ensemble
