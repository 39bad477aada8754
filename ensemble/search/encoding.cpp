#include "ensemble/search/encoding.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace slipway::ensemble {
namespace {

constexpr double kInactive = std::numeric_limits<double>::quiet_NaN();

double Number(const Scalar& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  const auto* real = std::get_if<double>(&value);
  return real != nullptr ? *real : kInactive;
}

/// 0 stands for all 2^64 integers.
template <class Range>
std::uint64_t CountOf(const Range& range) {
  return static_cast<std::uint64_t>(range.high) - static_cast<std::uint64_t>(range.low) + 1;
}

double Places(const IntDomain& range) {
  const auto count = CountOf(range);
  return count == 0 ? 0x1p64 : static_cast<double>(count);
}

/// Each integer owns the numbers that round to it.
double Below(const IntLogDomain& range) { return static_cast<double>(range.low) - 0.5; }
double Width(const IntLogDomain& range) { return std::log((static_cast<double>(range.high) + 0.5) / Below(range)); }

/// How one kind of domain is laid out on its axis. Nothing to lay out: the parameter never varies.
struct Layout {
  std::optional<Axis> operator()(const UniformDomain&) const { return Axis{0, AxisKind::kContinuous, 0}; }
  std::optional<Axis> operator()(const LogDomain&) const { return Axis{0, AxisKind::kContinuous, 0}; }
  std::optional<Axis> operator()(const IntDomain& range) const { return Axis{0, AxisKind::kOrdered, CountOf(range)}; }
  std::optional<Axis> operator()(const IntLogDomain& range) const {
    return Axis{0, AxisKind::kOrdered, CountOf(range)};
  }
  std::optional<Axis> operator()(const ChoiceDomain& choice) const {
    if (choice.values.size() == 1) return {};
    return Axis{0, AxisKind::kCategorical, choice.values.size()};
  }
  std::optional<Axis> operator()(const FixedDomain&) const { return {}; }
};

struct ToCoordinate {
  const Scalar& value;
  double operator()(const UniformDomain& range) const { return (Number(value) - range.low) / (range.high - range.low); }
  double operator()(const LogDomain& range) const {
    return std::log(Number(value) / range.low) / std::log(range.high / range.low);
  }
  double operator()(const IntDomain& range) const {
    return (Number(value) - static_cast<double>(range.low) + 0.5) / Places(range);
  }
  double operator()(const IntLogDomain& range) const { return std::log(Number(value) / Below(range)) / Width(range); }
  double operator()(const ChoiceDomain& choice) const {
    const auto found = std::ranges::find_if(choice.values, [&](const auto& other) { return SameValue(other, value); });
    return found == choice.values.end() ? kInactive : static_cast<double>(found - choice.values.begin());
  }
  double operator()(const FixedDomain&) const { return kInactive; }
};

struct ToValue {
  double at;  // NaN: nobody said
  double Unit() const { return std::isnan(at) ? 0.5 : std::clamp(at, 0.0, 1.0); }
  Scalar operator()(const UniformDomain& range) const {
    return std::clamp(range.low + Unit() * (range.high - range.low), range.low, range.high);
  }
  Scalar operator()(const LogDomain& range) const {
    return std::clamp(range.low * std::exp(Unit() * std::log(range.high / range.low)), range.low, range.high);
  }
  Scalar operator()(const IntDomain& range) const {
    const auto offset = std::floor(Unit() * Places(range));
    if (offset >= Places(range) - 1) return range.high;
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(range.low) + static_cast<std::uint64_t>(offset));
  }
  Scalar operator()(const IntLogDomain& range) const {
    const double number = std::round(Below(range) * std::exp(Unit() * Width(range)));
    if (number >= static_cast<double>(range.high)) return range.high;
    return std::max(static_cast<std::int64_t>(number), range.low);
  }
  Scalar operator()(const ChoiceDomain& choice) const {
    const auto last = static_cast<double>(choice.values.size() - 1);
    return choice.values[static_cast<std::size_t>(std::isnan(at) ? 0 : std::clamp(std::round(at), 0.0, last))];
  }
  Scalar operator()(const FixedDomain& fixed) const { return fixed.value; }
};

}  // namespace

Encoding::Encoding(SearchSpace space) : space_(std::move(space)) {
  for (std::size_t i = 0; i < space_.parameters().size(); ++i) {
    auto axis = std::visit(Layout{}, space_.parameters()[i].domain);
    if (!axis) continue;
    axis->parameter = i;
    axes_.push_back(*axis);
  }
}

Coordinates Encoding::Encode(const Point& point) const {
  Coordinates at(axes_.size(), kInactive);
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    const auto& parameter = space_.parameters()[axes_[i].parameter];
    if (const auto* value = Find(point, parameter.name)) at[i] = std::visit(ToCoordinate{*value}, parameter.domain);
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
    if (IsActive(parameter, point)) point.emplace_back(parameter.name, std::visit(ToValue{where}, parameter.domain));
  }
  return point;
}

}  // namespace slipway::ensemble
