#include "ensemble/analysis/cells.h"

#include <algorithm>
#include <cmath>

namespace slipway::ensemble {
namespace {

std::size_t CountCells(const Axis& axis) {
  const bool is_short = axis.values > 0 && axis.values <= AxisCells::kMostCells;
  return is_short || axis.kind == AxisKind::kCategorical ? static_cast<std::size_t>(axis.values)
                                                         : AxisCells::kMostCells;
}

}  // namespace

AxisCells::AxisCells(const Axis& axis) : is_ordered_(axis.kind != AxisKind::kCategorical), size_(CountCells(axis)) {}

std::size_t AxisCells::CellOf(double coordinate) const {
  const double place = is_ordered_ ? std::floor(coordinate * static_cast<double>(size_)) : coordinate;
  return static_cast<std::size_t>(std::clamp(place, 0.0, static_cast<double>(size_ - 1)));
}

std::vector<AxisCells> CellsOf(const Encoding& encoding) { return {encoding.axes().begin(), encoding.axes().end()}; }

}  // namespace slipway::ensemble
