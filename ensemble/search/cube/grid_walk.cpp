#include "ensemble/search/cube/grid_walk.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "ensemble/model/scalar.h"

namespace slipway::ensemble {
namespace {

constexpr std::uint64_t kMostStepsToCount = 1'000'000;

std::uint64_t GridCount(const Domain& domain, int points_per_range) {
  return IsContinuous(domain) ? static_cast<std::uint64_t>(points_per_range) : CountValues(domain);
}

/// As people write it: the middle of 1e-4 and 1 is 0.01, not 0.010000000000000004. So it equals a point of the user.
Scalar WithoutNoise(const Domain& domain, const Scalar& value) {
  const Scalar rounded = std::strtod(fmt::format("{:.14g}", NumberOf(value)).c_str(), nullptr);
  return Contains(domain, rounded) ? rounded : value;
}

Scalar GridValue(const Domain& domain, int points_per_range, std::uint64_t index) {
  if (!IsContinuous(domain)) return ValueAt(domain, index);
  const auto value = AtUnit(domain, static_cast<double>(index) / (points_per_range - 1));
  const bool is_end = index == 0 || index + 1 == GridCount(domain, points_per_range);
  return is_end ? value : WithoutNoise(domain, value);
}

}  // namespace

GridWalk::GridWalk(const SearchSpace& space, int points_per_range, std::uint64_t most_steps)
    : space_(space), points_per_range_(points_per_range), steps_left_(most_steps) {}

bool GridWalk::Next() {
  if (!std::exchange(started_, true) && AddWheels(0)) return true;
  while (!wheels_.empty() && steps_left_ > 0) {
    --steps_left_;
    Wheel& wheel = wheels_.back();
    const Domain& domain = space_.parameters()[wheel.parameter].domain;
    if (wheel.index == GridCount(domain, points_per_range_) - 1) {
      wheels_.pop_back();
      point_.pop_back();
      continue;
    }
    point_.back().second = GridValue(domain, points_per_range_, ++wheel.index);
    if (space_.Allows(point_) && AddWheels(wheel.parameter + 1)) return true;
  }
  return false;
}

bool GridWalk::AddWheels(std::size_t from) {
  const auto& parameters = space_.parameters();
  for (std::size_t i = from; i < parameters.size(); ++i) {
    if (!IsActive(parameters[i], point_)) continue;
    wheels_.push_back({i, 0});
    point_.emplace_back(parameters[i].name, GridValue(parameters[i].domain, points_per_range_, 0));
    if (!space_.Allows(point_)) return false;
  }
  return true;
}

std::int64_t CountGrid(const SearchSpace& space, int points_per_range, std::int64_t limit) {
  GridWalk walk(space, points_per_range, kMostStepsToCount);
  std::int64_t count = 0;
  while (count < limit && walk.Next()) ++count;
  return walk.has_given_up() ? limit : count;
}

bool IsDiscrete(const SearchSpace& space) {
  return std::ranges::none_of(space.parameters(), [](const auto& parameter) { return IsContinuous(parameter.domain); });
}

}  // namespace slipway::ensemble
