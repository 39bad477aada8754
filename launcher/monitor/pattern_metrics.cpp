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

std::vector<MetricsLine> PatternMetrics::Take(std::string_view line) {
  std::vector<MetricsLine> found;
  while (true) {
    const auto end = line.find('\r');
    if (auto metrics = TakePart(line.substr(0, end))) found.push_back(std::move(*metrics));
    if (end == std::string_view::npos) return found;
    line.remove_prefix(end + 1);
  }
}

std::optional<MetricsLine> PatternMetrics::TakePart(std::string_view part) {
  auto values = pattern_.Match(part);
  if (values.empty()) return {};
  MetricsLine metrics;
  const auto step = TakeOut(values, "step");
  metrics.step = step ? WholeStep(*step).value_or(next_step_) : next_step_;
  metrics.epoch = TakeOut(values, "epoch");
  metrics.values = std::move(values);
  ++next_step_;
  return metrics;
}

}  // namespace slipway::launcher
