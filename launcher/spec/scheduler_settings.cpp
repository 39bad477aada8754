#include "launcher/spec/scheduler_settings.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace slipway::launcher {
namespace {

std::optional<double> NumberOrNothing(const Json& json) {
  return json.is_number() ? std::optional(json.get<double>()) : std::nullopt;
}

}  // namespace

ensemble::SchedulerSettings SchedulerSettingsFrom(const Json& section) {
  ensemble::SchedulerSettings settings;
  settings.type = section.at("type").get<std::string>();
  settings.min = section.at("min").get<double>();
  settings.max = NumberOrNothing(section.at("max"));
  settings.reduction = section.at("reduction").get<int>();
  settings.percentile = section.at("percentile").get<double>();
  settings.patience = section.at("patience").get<int>();
  settings.lower = NumberOrNothing(section.at("lower"));
  settings.upper = NumberOrNothing(section.at("upper"));
  settings.startup = section.at("startup").get<int>();
  settings.interval = section.at("interval").get<double>();
  settings.quantile = section.at("quantile").get<double>();
  settings.population = section.at("population").get<int>();
  settings.p_value = section.at("p_value").get<double>();
  return settings;
}

void SetParallel(ensemble::SchedulerSettings& settings, std::optional<int> parallel) {
  constexpr int kFewest = 2;  // of a population
  settings.parallel = parallel.value_or(std::max(settings.population, kFewest));
}

}  // namespace slipway::launcher
