#include "ensemble/search/free_points.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "ensemble/random.h"
#include "ensemble/search/grid_walk.h"

namespace slipway::ensemble {
namespace {

constexpr std::uint32_t kRedraws = 64;

Scalar DrawInteger(const IntDomain& range, const CounterRandom& random, std::uint32_t draw) {
  const std::uint64_t low = static_cast<std::uint64_t>(range.low);
  const std::uint64_t count = static_cast<std::uint64_t>(range.high) - low + 1;
  // A count of 0 stands for all 2^64 integers.
  const std::uint64_t offset = count == 0 ? random.Bits(draw) : random.Below(count, draw);
  return static_cast<std::int64_t>(low + offset);
}

Scalar DrawIntLog(const IntLogDomain& range, double unit) {
  const double below = static_cast<double>(range.low) - 0.5;
  const double number = std::round(below * std::exp(unit * std::log((static_cast<double>(range.high) + 0.5) / below)));
  if (number >= static_cast<double>(range.high)) return range.high;
  return std::max(static_cast<std::int64_t>(number), range.low);
}

double DrawLog(const LogDomain& range, double unit) {
  const double low = std::log(range.low);
  return std::clamp(std::exp(low + unit * (std::log(range.high) - low)), range.low, range.high);
}

double DrawUniform(const UniformDomain& range, double unit) {
  return std::clamp(range.low + unit * (range.high - range.low), range.low, range.high);
}

Scalar DrawValue(const Domain& domain, const CounterRandom& random, std::uint32_t draw) {
  if (const auto* choice = std::get_if<ChoiceDomain>(&domain)) {
    return choice->values[random.Below(choice->values.size(), draw)];
  }
  if (const auto* fixed = std::get_if<FixedDomain>(&domain)) return fixed->value;
  if (const auto* range = std::get_if<IntDomain>(&domain)) return DrawInteger(*range, random, draw);
  if (const auto* range = std::get_if<IntLogDomain>(&domain)) return DrawIntLog(*range, random.Unit(draw));
  if (const auto* log = std::get_if<LogDomain>(&domain)) return DrawLog(*log, random.Unit(draw));
  return DrawUniform(std::get<UniformDomain>(domain), random.Unit(draw));
}

/// Among the first free points of the grid; so many that the earlier trials cannot have them all.
std::optional<Point> FreePointOfGrid(const SearchSpace& space, const CounterRandom& random, const TrialTable& earlier) {
  std::optional<Point> chosen;
  std::uint32_t found = 0;
  GridWalk walk(space, /*points_per_range=*/2);
  for (TrialNumber left = 2 * earlier.size() + kRedraws; left > 0 && walk.Next(); --left) {
    if (!IsFree(walk.point(), earlier)) continue;
    ++found;
    if (random.Below(found, found) == 0) chosen = walk.point();
  }
  return chosen;
}

}  // namespace

bool IsFree(const Point& point, const TrialTable& earlier) {
  return !earlier.ContainsConfiguration(ConfigurationHash(point));
}

Point RandomPoint(const SearchSpace& space, std::uint64_t seed, TrialNumber trial, std::uint32_t draw) {
  Point point;
  for (const auto& parameter : space.parameters()) {
    if (!IsActive(parameter, point)) continue;
    const CounterRandom random(seed, trial, parameter.name);
    point.emplace_back(parameter.name, DrawValue(parameter.domain, random, draw));
  }
  return point;
}

Point RandomFreePoint(const SearchSpace& space, std::uint64_t seed, TrialNumber trial, const TrialTable& earlier) {
  Point point = RandomPoint(space, seed, trial, 0);
  for (std::uint32_t draw = 1; draw <= kRedraws && !IsFree(point, earlier); ++draw) {
    point = RandomPoint(space, seed, trial, draw);
  }
  if (IsFree(point, earlier) || !IsDiscrete(space)) return point;
  return FreePointOfGrid(space, CounterRandom(seed, trial, "free points"), earlier).value_or(point);
}

}  // namespace slipway::ensemble
