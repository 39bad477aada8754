#include "trainers/common/settings.h"

#include <fmt/format.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "trainers/common/usage_error.h"

namespace trainers {
namespace {

using nlohmann::json;

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

/// Nothing when it is not set, or empty.
std::optional<double> ReadNumber(const char* name) {
  const auto text = Variable(name);
  if (text.empty()) return std::nullopt;
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (*end != '\0') throw UsageError(fmt::format("{} is '{}': must be a number", name, text));
  return number;
}

/// The variable's JSON object; an empty one when it is not set.
json ReadObject(const char* name) {
  const auto text = Variable(name);
  if (text.empty()) return json::object();
  auto document = json::parse(text, nullptr, false);
  if (!document.is_object()) throw UsageError(fmt::format("{} is not a JSON object", name));
  return document;
}

/// The value at `section.key` of SLIPWAY_CONFIG. Nothing when it is not there.
template <class Value>
std::optional<Value> ConfigValue(const json& config, const char* section, const char* key, const char* wanted,
                                 bool (json::*is_wanted)() const noexcept) {
  const auto found = config.find(section);
  if (found == config.end() || !found->is_object() || !found->contains(key)) return std::nullopt;
  const auto& value = (*found)[key];
  if ((value.*is_wanted)()) return value.get<Value>();
  throw UsageError(fmt::format("SLIPWAY_CONFIG: {}.{} is {}: must be {}", section, key, value.dump(), wanted));
}

void ReadValidation(const json& config, Settings& settings) {
  const auto from = ConfigValue<std::string>(config, "validation", "from", "a name", &json::is_string);
  if (from.value_or("train") != "train") {
    throw UsageError(
        fmt::format("SLIPWAY_CONFIG: validation.from is '{}': this trainer takes its validation records "
                    "from 'train'",
                    *from));
  }
  const auto fraction = ConfigValue<double>(config, "validation", "fraction", "a number", &json::is_number);
  settings.validation_fraction = fraction.value_or(settings.validation_fraction);
  if (!(settings.validation_fraction >= 0 && settings.validation_fraction < 1)) {
    throw UsageError(fmt::format("SLIPWAY_CONFIG: validation.fraction is {}: must be at least 0 and less than 1",
                                 settings.validation_fraction));
  }
  settings.validation_seed =
      ConfigValue<std::uint64_t>(config, "validation", "seed", "a number of 0 or more", &json::is_number_unsigned)
          .value_or(settings.validation_seed);
}

void ReadAccumulate(const json& config, Settings& settings) {
  const auto passes =
      ConfigValue<std::int64_t>(config, "gradients", "accumulate", "a number of 1 or more", &json::is_number_unsigned);
  settings.accumulate = passes.value_or(settings.accumulate);
  if (settings.accumulate < 1) throw UsageError("SLIPWAY_CONFIG: gradients.accumulate is 0: must be 1 or more");
}

/// Clipping would see scaled gradients, the check would end the training at an overflow, and delayed gradients have an
/// older scale.
std::string Unscalable(const json& config) {
  const auto gradients = config.value("gradients", json::object());
  const auto is = [&](const char* name, const json& value) { return gradients.value(name, json()) == value; };
  if (is("mode", "delayed")) return "gradients.mode: delayed";
  if (gradients.value("clip_norm", json()).is_number()) return "gradients.clip_norm";
  return is("check_finite", true) ? "gradients.check_finite" : "";
}

std::map<std::string, std::string> ReadParameters() {
  std::map<std::string, std::string> parameters;
  const auto document = ReadObject("SLIPWAY_PARAMS");
  for (const auto& [name, value] : document.items()) {
    parameters[name] = value.is_string() ? value.get<std::string>() : value.dump();
  }
  return parameters;
}

}  // namespace

Settings ReadSettings() {
  Settings settings;
  if (Variable("SLIPWAY_DATA_TRAIN").empty()) {
    throw UsageError("SLIPWAY_DATA_TRAIN is not set: name a dataset 'train' in the spec and start with `slipway run`");
  }
  settings.has_test_data = !Variable("SLIPWAY_DATA_TEST").empty();
  settings.checkpoints = !Variable("SLIPWAY_CHECKPOINT_DIR").empty();
  settings.run_folder = Variable("SLIPWAY_RUN_DIR");
  settings.repeat = static_cast<std::int64_t>(ReadNumber("SLIPWAY_REPEAT").value_or(0));
  settings.resource = Variable("SLIPWAY_RESOURCE");
  settings.limit = ReadNumber("SLIPWAY_RESOURCE_LIMIT");
  settings.parameters = ReadParameters();
  const auto config = ReadObject("SLIPWAY_CONFIG");
  ReadValidation(config, settings);
  ReadAccumulate(config, settings);
  settings.unscalable = Unscalable(config);
  settings.checkpoint_every_s = ConfigValue<double>(config, "checkpoint", "every_s", "a number", &json::is_number);
  return settings;
}

}  // namespace trainers
