#include "ensemble/space/rounding.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace slipway::ensemble {
namespace {

constexpr double kRoundedOff = 8 * std::numeric_limits<double>::epsilon();

/// In larger numbers, some units in the last place are no longer small compared with a fraction.
constexpr double kLargestRounded = 1e12;

bool IsWhole(double number) { return number == std::floor(number); }

}  // namespace

bool IsSameNumber(double left, double right) {
  if (left == right) return true;
  if ((IsWhole(left) && IsWhole(right)) || !std::isfinite(left) || !std::isfinite(right)) return false;
  return std::abs(left - right) <= kRoundedOff * std::max(std::abs(left), std::abs(right));
}

double WithoutRounding(double number) {
  const double nearest = std::round(number);
  return std::abs(number) <= kLargestRounded && IsSameNumber(number, nearest) ? nearest : number;
}

double SumOf(double left, double right) { return IsSameNumber(left, -right) ? 0 : left + right; }

double RemainderOf(double number, double divisor) {
  const double remainder = std::fmod(number, divisor);
  const bool is_exact = IsWhole(number) && IsWhole(divisor);
  if (is_exact || !std::isfinite(remainder) || !std::isfinite(divisor)) return remainder;
  return IsWhole(WithoutRounding(number / divisor)) ? 0 : remainder;
}

}  // namespace slipway::ensemble
