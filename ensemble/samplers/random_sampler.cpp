#include "ensemble/samplers/random_sampler.h"

#include "ensemble/search/cube/free_points.h"

namespace slipway::ensemble {

RandomSampler::RandomSampler(SearchSpace space, std::uint64_t seed) : space_(std::move(space)), seed_(seed) {}

std::optional<Point> RandomSampler::Ask(TrialNumber trial, const TrialTable& earlier) {
  return RandomFreePoint(space_, seed_, trial, earlier);
}

}  // namespace slipway::ensemble
