#include "trainers/fashion/settings.h"

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "trainers/fashion/arguments.h"

namespace fashion {
namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

void ReadConfiguration(const std::string& text, Settings& settings) {
  if (text.empty()) return;
  const auto config = nlohmann::json::parse(text, nullptr, false);
  if (!config.is_object()) throw UsageError("SLIPWAY_CONFIG is not a JSON object");
  if (const auto validation = config.find("validation"); validation != config.end()) {
    settings.validation_fraction = validation->value("fraction", settings.validation_fraction);
    settings.validation_seed = validation->value("seed", settings.validation_seed);
  }
  if (const auto checkpoint = config.find("checkpoint");
      checkpoint != config.end() && checkpoint->contains("every_s")) {
    settings.checkpoint_every_s = (*checkpoint)["every_s"].get<double>();
  }
}

}  // namespace

Settings ReadSettings() {
  Settings settings;
  settings.train_data = Variable("SLIPWAY_DATA_TRAIN");
  if (settings.train_data.empty()) {
    throw UsageError("SLIPWAY_DATA_TRAIN is not set: name a dataset 'train' in the spec and start with `slipway run`");
  }
  if (const auto test = Variable("SLIPWAY_DATA_TEST"); !test.empty()) settings.test_data = test;
  settings.checkpoints = !Variable("SLIPWAY_CHECKPOINT_DIR").empty();
  ReadConfiguration(Variable("SLIPWAY_CONFIG"), settings);
  return settings;
}

}  // namespace fashion
