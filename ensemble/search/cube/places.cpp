#include "ensemble/search/cube/places.h"

#include <algorithm>
#include <cmath>

namespace slipway::ensemble {
namespace {

constexpr std::uint64_t kMostParts = 4096;

const Domain& DomainOf(const Encoding& encoding, std::size_t axis) {
  return encoding.space().parameters()[encoding.axis(axis).parameter].domain;
}

bool IsOrdered(const Encoding& encoding, std::size_t axis) {
  return encoding.axis(axis).kind == AxisKind::kOrdered && encoding.axis(axis).values != 0;
}

bool IsEven(const Encoding& encoding, std::size_t axis) {
  return !std::holds_alternative<IntLogDomain>(DomainOf(encoding, axis));
}

}  // namespace

bool HasEvenParts(const Encoding& encoding, std::size_t axis) {
  return IsOrdered(encoding, axis) && IsEven(encoding, axis) && encoding.axis(axis).values <= kMostParts;
}

bool HasParts(const Encoding& encoding, std::size_t axis) {
  return HasEvenParts(encoding, axis) || (IsOrdered(encoding, axis) && !IsEven(encoding, axis));
}

Part PartAround(const Encoding& encoding, std::size_t axis, double at) {
  if (IsEven(encoding, axis)) {
    const double count = static_cast<double>(encoding.axis(axis).values);
    const double index = std::clamp(std::floor(at * count), 0.0, count - 1);
    return {index / count, (index + 1) / count, (index + 0.5) / count, index == 0, index == count - 1};
  }
  const auto& range = std::get<IntLogDomain>(DomainOf(encoding, axis));
  const auto value = std::get<std::int64_t>(AtUnit(range, at));
  const double number = static_cast<double>(value);
  const double low = UnitOf(range, number - 0.5);
  return {low, UnitOf(range, number + 0.5), UnitOf(range, value), value == range.low, value == range.high};
}

}  // namespace slipway::ensemble
