#include "ensemble/search/places.h"

#include <algorithm>
#include <cmath>

namespace slipway::ensemble {
namespace {

constexpr std::uint64_t kMostParts = 4096;

}  // namespace

bool HasParts(const Axis& axis) {
  return axis.kind == AxisKind::kOrdered && axis.values != 0 && axis.values <= kMostParts;
}

Part PartAround(const Axis& axis, double at) {
  const double count = static_cast<double>(axis.values);
  const double index = std::clamp(std::floor(at * count), 0.0, count - 1);
  return {index / count, (index + 1) / count, index == 0, index == count - 1};
}

}  // namespace slipway::ensemble
