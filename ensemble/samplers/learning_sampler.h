/// A sampler around a search method.
#pragma once

#include <functional>
#include <memory>

#include "ensemble/samplers/sobol_sampler.h"
#include "ensemble/search/proposer.h"
#include "ensemble/search/results/observations.h"

namespace slipway::ensemble {

/// The first `start` trials, and all while nothing is known, get scrambled Sobol points; then the method proposes.
/// What an earlier trial has, or a constraint forbids, is proposed anew up to 32 times; then a random free point is
/// taken.
class LearningSampler : public Sampler {
 public:
  using MakeProposer = std::function<std::unique_ptr<Proposer>(const Encoding& encoding, std::uint64_t seed)>;

  /// Of `settings` it reads goal and seed.
  LearningSampler(const SamplerSettings& settings, SearchSpace space, TrialNumber start, const MakeProposer& make);
  std::optional<Point> Ask(TrialNumber trial, const TrialTable& earlier) override;
  std::string_view Origin() const override { return proposed_ ? proposer_->Origin() : std::string_view(); }

 private:
  Encoding encoding_;
  ObservationLog log_;
  std::uint64_t seed_;
  TrialNumber start_;
  SobolSampler first_;
  std::unique_ptr<Proposer> proposer_;
  bool proposed_ = false;  // the last ask's point is the proposer's
};

}  // namespace slipway::ensemble
