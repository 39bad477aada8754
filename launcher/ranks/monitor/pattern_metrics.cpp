#include "launcher/ranks/monitor/pattern_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/terminal_text.h"

namespace slipway::launcher {
namespace {

/// Removes and returns one of the values.
std::optional<double> TakeOut(std::map<std::string, double>& values, const std::string& name) {
  const auto node = values.extract(name);
  if (node.empty()) return {};
  return node.mapped();
}

/// As a terminal shows it. Most lines have nothing to be removed.
std::string WithoutEscapes(std::string_view part) {
  return part.find('\x1b') == std::string_view::npos ? std::string(part) : WithoutControls(part);
}

}  // namespace

std::vector<MetricsLine> PatternMetrics::Take(std::string_view line) {
  auto found = TakeUnfinished(line);
  line.remove_prefix(std::min(std::exchange(taken_, 0), line.size()));
  if (auto metrics = TakePart(WithoutEscapes(line))) found.push_back(std::move(*metrics));
  return found;
}

std::vector<MetricsLine> PatternMetrics::TakeUnfinished(std::string_view line) {
  std::vector<MetricsLine> found;
  while (true) {
    const auto end = line.find('\r', taken_);
    if (end == std::string_view::npos) return found;
    if (auto metrics = TakePart(WithoutEscapes(line.substr(taken_, end - taken_))))
      found.push_back(std::move(*metrics));
    taken_ = end + 1;
  }
}

std::map<std::string, double> PatternMetrics::NumbersIn(std::string_view part) {
  std::map<std::string, double> values;
  if (part.empty()) return values;
  ++tally_.lines;
  const auto groups = pattern_.Groups(part);
  if (!groups) return values;
  ++tally_.matched;
  for (const auto& [name, text] : *groups) {
    if (const auto value = NumberIn(text)) {
      values[name] = *value;
      numbers_.insert(name);
      tally_.no_number.erase(name);
    } else if (!numbers_.contains(name)) {
      tally_.no_number.try_emplace(name, text);
    }
  }
  return values;
}

std::optional<MetricsLine> PatternMetrics::TakePart(std::string_view part) {
  auto values = NumbersIn(part);
  if (values.empty()) return {};
  MetricsLine metrics;
  const auto number = TakeOut(values, "step");
  const auto step = number ? WholeStep(*number) : std::nullopt;
  metrics.has_step = step.has_value();
  metrics.step = step.value_or(next_step_);
  metrics.epoch = TakeOut(values, "epoch");
  metrics.values = std::move(values);
  ++next_step_;
  ++tally_.read;
  return metrics;
}

std::string WhatIsWrong(const PatternTally& tally) {
  if (tally.lines == 0) return "rank 0 printed nothing, so the pattern of train.metrics found nothing";
  const auto* lines = tally.lines == 1 ? "line" : "lines";
  if (tally.matched == 0) {
    return fmt::format("the pattern of train.metrics matches none of the {} {} of rank 0", tally.lines, lines);
  }
  if (tally.no_number.empty()) return tally.read > 0 ? "" : "no group of the pattern of train.metrics took part";
  const auto& [name, text] = *tally.no_number.begin();
  return fmt::format(
      "the pattern of train.metrics matches {} of the {} {} of rank 0, but '{}' was never a number: '{}'",
      tally.matched, tally.lines, lines, name, text);
}

}  // namespace slipway::launcher
