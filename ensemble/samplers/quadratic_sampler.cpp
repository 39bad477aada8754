#include "ensemble/samplers/quadratic_sampler.h"

#include "ensemble/search/free_points.h"

namespace slipway::ensemble {
namespace {

constexpr std::uint32_t kAttempts = 24;

}  // namespace

QuadraticSampler::QuadraticSampler(SearchSpace space, std::uint64_t seed, Goal goal)
    : encoding_(std::move(space)), seed_(seed), log_(encoding_, goal), search_(encoding_, seed) {}

std::optional<Point> QuadraticSampler::Ask(TrialNumber trial, const TrialTable& earlier) {
  const auto& known = log_.Update(trial, earlier);
  for (std::uint32_t attempt = 0; attempt < kAttempts; ++attempt) {
    Point point = encoding_.Decode(search_.Propose(known, trial, attempt));
    if (IsFree(encoding_.space(), point, earlier)) return point;
  }
  return RandomFreePoint(encoding_.space(), seed_, trial, earlier);
}

}  // namespace slipway::ensemble
