#include "ensemble/samplers/learning_sampler.h"

#include "ensemble/search/cube/free_points.h"

namespace slipway::ensemble {
namespace {

constexpr std::uint32_t kAttempts = 32;

}  // namespace

LearningSampler::LearningSampler(const SamplerSettings& settings, SearchSpace space, TrialNumber start,
                                 const MakeProposer& make)
    : encoding_(std::move(space)),
      log_(encoding_, settings.goal, settings.further),
      seed_(settings.seed),
      start_(start),
      first_(encoding_.space(), settings.seed),
      proposer_(make(encoding_, settings.seed)) {}

std::optional<Point> LearningSampler::Ask(TrialNumber trial, const TrialTable& earlier) {
  const auto& known = log_.Update(trial, earlier);
  proposed_ = false;
  if (trial < start_ || known.complete.empty() || encoding_.axes().empty()) return first_.Ask(trial, earlier);
  for (std::uint32_t attempt = 0; attempt < kAttempts; ++attempt) {
    auto point = encoding_.Decode(proposer_->Propose(known, trial, attempt));
    if (!IsFree(encoding_.space(), point, earlier)) continue;
    proposed_ = true;
    return point;
  }
  return RandomFreePoint(encoding_.space(), seed_, trial, earlier);
}

}  // namespace slipway::ensemble
