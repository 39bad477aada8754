#include "ensemble/schedulers/checks.h"

#include <fmt/format.h>

#include <cmath>

namespace slipway::ensemble {

std::string DescribeValue(double value, Goal goal) {
  if (!std::isfinite(value)) return "a value that is not finite";
  return fmt::format("{:.6g}", goal == Goal::kMaximize && value != 0 ? -value : value);
}

/// The last check at or before `resource`.
std::optional<double> Checks::Before(double resource) const {
  if (resource < min_) return std::nullopt;
  if (interval_ == 0) return resource;
  // Sums such as 0.1 + 0.2 may miss their check by a rounding.
  return std::floor((resource - min_) / interval_ + 1e-9);
}

std::optional<double> Checks::PassedAt(const Curve& curve, std::size_t i) const {
  const auto here = Before(curve.marks()[i].resource);
  const bool passed_earlier = i > 0 && Before(curve.marks()[i - 1].resource) == here;
  return passed_earlier ? std::nullopt : here;
}

}  // namespace slipway::ensemble
