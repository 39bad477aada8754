#include "ensemble/search/grid_walk.h"

#include <algorithm>
#include <cmath>

namespace slipway::ensemble {
namespace {

std::uint64_t GridCount(const Domain& domain, int points_per_range) {
  if (const auto* choice = std::get_if<ChoiceDomain>(&domain)) return choice->values.size();
  if (std::holds_alternative<FixedDomain>(domain)) return 1;
  if (const auto* range = std::get_if<IntDomain>(&domain)) {
    return static_cast<std::uint64_t>(range->high) - static_cast<std::uint64_t>(range->low) + 1;
  }
  if (const auto* range = std::get_if<IntLogDomain>(&domain)) {
    return static_cast<std::uint64_t>(range->high - range->low) + 1;
  }
  return static_cast<std::uint64_t>(points_per_range);
}

Scalar GridValue(const Domain& domain, int points_per_range, std::uint64_t index) {
  if (const auto* choice = std::get_if<ChoiceDomain>(&domain)) return choice->values[index];
  if (const auto* fixed = std::get_if<FixedDomain>(&domain)) return fixed->value;
  if (const auto* range = std::get_if<IntDomain>(&domain)) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(range->low) + index);
  }
  if (const auto* range = std::get_if<IntLogDomain>(&domain)) return range->low + static_cast<std::int64_t>(index);
  const bool last = index + 1 == static_cast<std::uint64_t>(points_per_range);
  const double part = static_cast<double>(index) / (points_per_range - 1);
  if (const auto* log = std::get_if<LogDomain>(&domain)) {
    return last ? log->high : log->low * std::pow(log->high / log->low, part);
  }
  const auto& uniform = std::get<UniformDomain>(domain);
  return last ? uniform.high : uniform.low + (uniform.high - uniform.low) * part;
}

}  // namespace

GridWalk::GridWalk(const SearchSpace& space, int points_per_range)
    : space_(space), points_per_range_(points_per_range) {}

bool GridWalk::Next() {
  if (!started_) {
    started_ = true;
    AddWheels(0);
    return true;
  }
  while (!wheels_.empty()) {
    Wheel& wheel = wheels_.back();
    const Domain& domain = space_.parameters()[wheel.parameter].domain;
    if (++wheel.index < GridCount(domain, points_per_range_)) {
      point_.back().second = GridValue(domain, points_per_range_, wheel.index);
      AddWheels(wheel.parameter + 1);
      return true;
    }
    wheels_.pop_back();
    point_.pop_back();
  }
  return false;
}

void GridWalk::AddWheels(std::size_t from) {
  const auto& parameters = space_.parameters();
  for (std::size_t i = from; i < parameters.size(); ++i) {
    if (!IsActive(parameters[i], point_)) continue;
    wheels_.push_back({i, 0});
    point_.emplace_back(parameters[i].name, GridValue(parameters[i].domain, points_per_range_, 0));
  }
}

std::int64_t CountGrid(const SearchSpace& space, int points_per_range, std::int64_t limit) {
  GridWalk walk(space, points_per_range);
  std::int64_t count = 0;
  while (count < limit && walk.Next()) ++count;
  return count;
}

bool IsDiscrete(const SearchSpace& space) {
  return std::ranges::none_of(space.parameters(), [](const Parameter& parameter) {
    return std::holds_alternative<UniformDomain>(parameter.domain) ||
           std::holds_alternative<LogDomain>(parameter.domain);
  });
}

}  // namespace slipway::ensemble
