#include "ensemble/samplers/sobol_sampler.h"

#include "ensemble/search/cube/free_points.h"

namespace slipway::ensemble {

SobolSampler::SobolSampler(SearchSpace space, std::uint64_t seed)
    : encoding_(std::move(space)), seed_(seed), points_(seed, encoding_.axes().size()) {}

std::optional<Point> SobolSampler::Ask(TrialNumber trial, const TrialTable& earlier) {
  Point point = encoding_.Decode(UnitToAxes(points_.Point(static_cast<std::uint64_t>(trial)), encoding_.axes()));
  if (IsFree(encoding_.space(), point, earlier)) return point;
  return RandomFreePoint(encoding_.space(), seed_, trial, earlier);
}

}  // namespace slipway::ensemble
