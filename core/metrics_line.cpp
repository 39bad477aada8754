#include "core/metrics_line.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/json.h"
#include "core/json_text.h"
#include "core/number_words.h"
#include "core/plain_metrics_line.h"

namespace slipway {
namespace {

/// With quotes around each NaN, Infinity and -Infinity that stands outside a text.
std::string WithQuotedWords(std::string_view line) {
  std::string quoted;
  bool in_text = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const auto rest = line.substr(i);
    if (!in_text) {
      const auto word =
          std::ranges::find_if(kNumberWords, [&](std::string_view each) { return rest.starts_with(each); });
      if (word != kNumberWords.end()) {
        quoted.append("\"").append(*word).append("\"");
        i += word->size() - 1;
        continue;
      }
    }
    const bool escapes = in_text && line[i] == '\\' && rest.size() > 1;
    if (line[i] == '"') in_text = !in_text;
    quoted += line[i];
    if (escapes) quoted += line[++i];
  }
  return quoted;
}

bool HasMetrics(const Json& json) { return json.contains("metrics") && json["metrics"].is_object(); }

std::optional<std::int64_t> StepIn(const Json& step) {
  if (step.is_number_unsigned() && !std::in_range<std::int64_t>(step.get<std::uint64_t>())) return {};
  if (step.is_number_integer()) return step.get<std::int64_t>();
  return step.is_number() ? WholeStep(step.get<double>()) : std::nullopt;
}

}  // namespace

Json JsonOfMetricsLine(std::string_view line) {
  auto json = Json::parse(line, nullptr, false);
  return json.is_discarded() ? Json::parse(WithQuotedWords(line), nullptr, false) : json;
}

std::optional<std::int64_t> WholeStep(double step) {
  constexpr double kEnd = 0x1p63;
  if (!(step >= -kEnd && step < kEnd)) return {};
  return static_cast<std::int64_t>(step);
}

std::string WhyNotAllRead(std::string_view line) {
  if (line.find_first_not_of(" \t\r") == std::string_view::npos) return {};
  const auto json = JsonOfMetricsLine(line);
  if (!json.is_object()) return "it is no JSON object";
  if (!HasMetrics(json)) return "it has no object 'metrics'";
  for (const auto& [name, value] : json["metrics"].items()) {
    if (!NumberOfJson(value)) return "'" + name + "' is no number";
  }
  return {};
}

std::optional<MetricsLine> ParseMetricsLine(std::string_view line) {
  if (auto plain = ParsePlainMetricsLine(line)) return plain;
  const auto json = JsonOfMetricsLine(line);
  if (!json.is_object() || !HasMetrics(json)) return {};
  MetricsLine metrics;
  const auto step = json.contains("step") ? StepIn(json["step"]) : std::nullopt;
  metrics.has_step = step.has_value();
  metrics.step = step.value_or(0);
  if (json.contains("epoch") && json["epoch"].is_number()) metrics.epoch = json["epoch"].get<double>();
  if (json.contains("time") && json["time"].is_number()) metrics.time = json["time"].get<double>();
  for (const auto& [name, value] : json["metrics"].items()) {
    if (const auto number = NumberOfJson(value)) metrics.values[name] = *number;
  }
  return metrics;
}

std::optional<MetricsLine> MetricsReader::Read(std::string_view line) {
  auto metrics = ParseMetricsLine(line);
  if (!metrics) return {};
  if (!metrics->has_step) metrics->step = next_step_;
  constexpr auto kLast = std::numeric_limits<std::int64_t>::max();
  next_step_ = metrics->step == kLast ? kLast : metrics->step + 1;
  return metrics;
}

std::string FormatMetricsLine(const MetricsLine& metrics, double unix_time) {
  Json values = Json::object();
  for (const auto& [name, value] : metrics.values) values[name] = JsonOf(value);
  const Json line{{"time", unix_time},
                  {"step", metrics.step},
                  {"epoch", metrics.epoch ? Json(*metrics.epoch) : Json(nullptr)},
                  {"metrics", values}};
  return JsonText(line) + "\n";
}

}  // namespace slipway
