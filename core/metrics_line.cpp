#include "core/metrics_line.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/json.h"

namespace slipway {
namespace {

std::optional<double> ValueOf(const Json& json) {
  if (json.is_number()) return json.get<double>();
  if (!json.is_string()) return {};
  const auto& word = json.get_ref<const std::string&>();
  if (word == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (word == "Infinity") return std::numeric_limits<double>::infinity();
  if (word == "-Infinity") return -std::numeric_limits<double>::infinity();
  return {};
}

Json JsonOf(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return "NaN";
  return value > 0 ? "Infinity" : "-Infinity";
}

}  // namespace

std::optional<MetricsLine> ParseMetricsLine(std::string_view line) {
  const auto json = Json::parse(line, nullptr, false);
  if (!json.is_object() || !json.contains("metrics") || !json["metrics"].is_object()) return {};
  MetricsLine metrics;
  if (json.contains("step") && json["step"].is_number()) metrics.step = json["step"].get<std::int64_t>();
  if (json.contains("epoch") && json["epoch"].is_number()) metrics.epoch = json["epoch"].get<double>();
  if (json.contains("time") && json["time"].is_number()) metrics.time = json["time"].get<double>();
  for (const auto& [name, value] : json["metrics"].items()) {
    if (const auto number = ValueOf(value)) metrics.values[name] = *number;
  }
  return metrics;
}

std::string FormatMetricsLine(const MetricsLine& metrics, double unix_time) {
  Json values = Json::object();
  for (const auto& [name, value] : metrics.values) values[name] = JsonOf(value);
  const Json line{{"time", unix_time},
                  {"step", metrics.step},
                  {"epoch", metrics.epoch ? Json(*metrics.epoch) : Json(nullptr)},
                  {"metrics", values}};
  return line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace slipway
