#include "ensemble/analysis/cells.h"

#include <algorithm>
#include <cmath>

namespace slipway::ensemble {
namespace {

std::size_t CountActive(const Axis& axis) {
  const bool is_short = axis.values > 0 && axis.values <= AxisCells::kMostCells;
  return is_short || axis.kind == AxisKind::kCategorical ? static_cast<std::size_t>(axis.values)
                                                         : AxisCells::kMostCells;
}

}  // namespace

AxisCells::AxisCells(const Axis& axis, bool has_inactive)
    : is_ordered_(axis.kind != AxisKind::kCategorical), has_inactive_(has_inactive), active_(CountActive(axis)) {}

std::size_t AxisCells::CellOf(double coordinate) const {
  if (std::isnan(coordinate)) return active_;
  const double place = is_ordered_ ? std::floor(coordinate * static_cast<double>(active_)) : coordinate;
  return static_cast<std::size_t>(std::clamp(place, 0.0, static_cast<double>(active_ - 1)));
}

std::vector<AxisCells> CellsOf(const Encoding& encoding, std::span<const Observation> trials) {
  std::vector<AxisCells> cells;
  for (std::size_t i = 0; i < encoding.axes().size(); ++i) {
    const bool has_inactive = std::ranges::any_of(trials, [i](const auto& trial) { return std::isnan(trial.at[i]); });
    cells.emplace_back(encoding.axis(i), has_inactive);
  }
  return cells;
}

}  // namespace slipway::ensemble
