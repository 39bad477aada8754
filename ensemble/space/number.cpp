#include "ensemble/space/number.h"

#include <cmath>
#include <limits>

namespace slipway::ensemble {

bool IsNumber(const Scalar& value) {
  return std::holds_alternative<std::int64_t>(value) || std::holds_alternative<double>(value);
}

std::optional<std::int64_t> IntegerOf(const Scalar& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
  constexpr double kEnd = 0x1p63;
  const double number = NumberOf(value);
  if (number != std::floor(number) || number < -kEnd || number >= kEnd) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

double NumberOf(const Scalar& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  const auto* real = std::get_if<double>(&value);
  return real != nullptr ? *real : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace slipway::ensemble
