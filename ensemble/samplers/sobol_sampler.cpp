#include "ensemble/samplers/sobol_sampler.h"

#include <cmath>

#include "ensemble/search/free_points.h"

namespace slipway::ensemble {

Coordinates SobolCoordinates(const ScrambledSobol& points, std::uint64_t index, const Encoding& encoding) {
  Coordinates at = points.Point(index);
  for (std::size_t i = 0; i < at.size(); ++i) {
    const Axis& axis = encoding.axis(i);
    if (axis.kind == AxisKind::kCategorical) at[i] = std::floor(at[i] * static_cast<double>(axis.values));
  }
  return at;
}

SobolSampler::SobolSampler(SearchSpace space, std::uint64_t seed)
    : encoding_(std::move(space)), seed_(seed), points_(seed, encoding_.axes().size()) {}

std::optional<Point> SobolSampler::Ask(TrialNumber trial, const TrialTable& earlier) {
  Point point = encoding_.Decode(SobolCoordinates(points_, static_cast<std::uint64_t>(trial), encoding_));
  if (IsFree(point, earlier)) return point;
  return RandomFreePoint(encoding_.space(), seed_, trial, earlier);
}

}  // namespace slipway::ensemble
