#include "launcher/monitor/pattern_metrics.h"

namespace slipway::launcher {
namespace {

/// Removes and returns one of the values.
std::optional<double> TakeOut(std::map<std::string, double>& values, const std::string& name) {
  const auto node = values.extract(name);
  if (node.empty()) return {};
  return node.mapped();
}

}  // namespace

std::optional<MetricsLine> PatternMetrics::Take(std::string_view line) {
  auto values = pattern_.Match(line);
  if (values.empty()) return {};
  MetricsLine metrics;
  const auto step = TakeOut(values, "step");
  metrics.step = step ? static_cast<std::int64_t>(*step) : matches_;
  metrics.epoch = TakeOut(values, "epoch");
  metrics.values = std::move(values);
  ++matches_;
  return metrics;
}

}  // namespace slipway::launcher
