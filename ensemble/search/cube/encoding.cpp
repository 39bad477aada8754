#include "ensemble/search/cube/encoding.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace slipway::ensemble {
namespace {

constexpr double kInactive = std::numeric_limits<double>::quiet_NaN();

/// Nothing to lay out: the parameter never varies.
std::optional<Axis> AxisOf(const Domain& domain) {
  if (IsContinuous(domain)) return Axis{0, AxisKind::kContinuous, 0};
  const auto values = CountValues(domain);
  if (values == 1) return std::nullopt;
  return Axis{0, std::holds_alternative<ChoiceDomain>(domain) ? AxisKind::kCategorical : AxisKind::kOrdered, values};
}

double ToCoordinate(const Domain& domain, const Scalar& value) {
  if (!std::holds_alternative<ChoiceDomain>(domain)) return UnitOf(domain, value);
  const auto index = IndexOf(domain, value);
  return index ? static_cast<double>(*index) : kInactive;
}

/// The value at a place. NaN: not given.
Scalar ToValue(const Domain& domain, double at) {
  if (!std::holds_alternative<ChoiceDomain>(domain)) return AtUnit(domain, std::isnan(at) ? 0.5 : at);
  const auto last = static_cast<double>(CountValues(domain) - 1);
  return ValueAt(domain, static_cast<std::uint64_t>(std::isnan(at) ? 0 : std::clamp(std::round(at), 0.0, last)));
}

}  // namespace

Coordinates UnitToAxes(std::vector<double> units, const std::vector<Axis>& axes) {
  for (std::size_t i = 0; i < units.size(); ++i) {
    if (axes[i].kind == AxisKind::kCategorical) units[i] = std::floor(units[i] * static_cast<double>(axes[i].values));
  }
  return units;
}

Encoding::Encoding(SearchSpace space) : space_(std::move(space)) {
  for (std::size_t i = 0; i < space_.parameters().size(); ++i) {
    auto axis = AxisOf(space_.parameters()[i].domain);
    if (!axis) continue;
    axis->parameter = i;
    axes_.push_back(*axis);
  }
}

Coordinates Encoding::Encode(const Point& point) const {
  Coordinates at(axes_.size(), kInactive);
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    const auto& parameter = space_.parameters()[axes_[i].parameter];
    if (const auto* value = Find(point, parameter.name)) at[i] = ToCoordinate(parameter.domain, *value);
  }
  return at;
}

Point Encoding::Decode(const Coordinates& at) const {
  Point point;
  std::size_t axis = 0;
  for (std::size_t i = 0; i < space_.parameters().size(); ++i) {
    const auto& parameter = space_.parameters()[i];
    const bool varies = axis < axes_.size() && axes_[axis].parameter == i;
    const double where = varies ? at[axis++] : kInactive;
    if (IsActive(parameter, point)) point.emplace_back(parameter.name, ToValue(parameter.domain, where));
  }
  return point;
}

}  // namespace slipway::ensemble
