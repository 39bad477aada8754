#include "ensemble/space/rounding.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace slipway::ensemble {
namespace {

constexpr double kRoundedOff = 8 * std::numeric_limits<double>::epsilon();

bool IsWhole(double number) { return number == std::floor(number); }

}  // namespace

bool IsSameNumber(double left, double right) {
  if (left == right) return true;
  if ((IsWhole(left) && IsWhole(right)) || !std::isfinite(left) || !std::isfinite(right)) return false;
  return std::abs(left - right) <= kRoundedOff * std::max(std::abs(left), std::abs(right));
}

double WithoutRounding(double number) {
  const double nearest = std::round(number);
  return IsSameNumber(number, nearest) ? nearest : number;
}

double SumOf(double left, double right) { return IsSameNumber(left, -right) ? 0 : left + right; }

double RemainderOf(double number, double divisor) {
  return IsWhole(WithoutRounding(number / divisor)) && std::isfinite(divisor) ? 0 : std::fmod(number, divisor);
}

}  // namespace slipway::ensemble
