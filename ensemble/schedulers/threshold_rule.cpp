#include "ensemble/schedulers/threshold_rule.h"

#include <fmt/format.h>

#include <cmath>

#include "ensemble/schedulers/describe.h"

namespace slipway::ensemble {

Judgement ThresholdRule::Take(const Report& report) {
  if (report.resource < settings_.min) return {};
  const double value = settings_.goal == Goal::kMaximize ? -report.value : report.value;
  const auto stop = [&](const std::string& reason) {
    const auto what = DescribeValue(report.value, settings_.goal);
    return Judgement{Decision::kStop, fmt::format("at {:.6g}: {}{}", report.resource, what, reason), std::nullopt};
  };
  if (!std::isfinite(value)) return stop("");
  if (settings_.lower && value < *settings_.lower) return stop(fmt::format(" is below {:.6g}", *settings_.lower));
  if (settings_.upper && value > *settings_.upper) return stop(fmt::format(" is above {:.6g}", *settings_.upper));
  return {};
}

}  // namespace slipway::ensemble
