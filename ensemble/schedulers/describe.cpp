#include "ensemble/schedulers/describe.h"

#include <fmt/format.h>

#include <cmath>

namespace slipway::ensemble {

std::string DescribeValue(double value, Goal goal) {
  if (!std::isfinite(value)) return "a value that is not finite";
  return fmt::format("{:.6g}", goal == Goal::kMaximize && value != 0 ? -value : value);
}

}  // namespace slipway::ensemble
