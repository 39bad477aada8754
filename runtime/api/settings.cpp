#include "runtime/api/settings.h"

#include <fmt/format.h>

#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "core/environment.h"
#include "core/json.h"
#include "core/lines.h"
#include "core/units.h"
#include "runtime/status.h"

namespace slipway::runtime {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void Refuse(const std::string& what) {
  throw RuntimeError(SLIPWAY_ERROR_ARGUMENT, "the configuration is wrong: " + what);
}

Json ParseConfiguration(const std::string& text) {
  auto config = text.empty() ? Json::object() : ParseJson(text, "the configuration is malformed");
  if (!config.is_object()) throw RuntimeError(SLIPWAY_ERROR_ARGUMENT, "the configuration is not a JSON object");
  return config;
}

Json Section(const Json& config, const char* name) {
  auto section = config.value(name, Json::object());
  if (!section.is_object()) Refuse(fmt::format("{} is not an object", name));
  return section;
}

Checkpoints::Settings CheckpointSettings(const Json& config) {
  Checkpoints::Settings settings;
  settings.directory = Variable("SLIPWAY_CHECKPOINT_DIR");
  settings.resume_from = Variable("SLIPWAY_RESUME_FROM");
  settings.spec_hash = config.value("spec_hash", std::string());
  const auto keep = Section(config, "checkpoint").value("keep", Json(settings.keep));
  if (!keep.is_number_integer() || keep < 1 || keep > std::numeric_limits<int>::max()) {
    Refuse(fmt::format("checkpoint.keep is {}, not a number from 1", keep.dump()));
  }
  settings.keep = keep.get<int>();
  return settings;
}

WatchSettings WatchSettingsFrom(const Json& config, const std::string& attempt_folder) {
  WatchSettings settings;
  const auto after = Section(config, "resilience").value("stall_after_s", Json(settings.stall_after.count()));
  if (!after.is_number() || !(after.get<double>() > 0)) {
    Refuse(fmt::format("resilience.stall_after_s is {}, not a positive number", after.dump()));
  }
  settings.stall_after = std::chrono::duration<double>(after.get<double>());
  if (!attempt_folder.empty()) settings.report = fs::path(attempt_folder) / "watch.json";
  return settings;
}

/// Of the section `trace`; 0 when it is left out.
int StepsFrom(const Json& trace, const char* name) {
  const auto steps = trace.value(name, Json(0));
  if (!steps.is_number_integer() || steps < 0 || steps > std::numeric_limits<int>::max()) {
    Refuse(fmt::format("trace.{} is {}, not a number of steps", name, steps.dump()));
  }
  return steps.get<int>();
}

TraceSettings TraceSettingsFrom(const Json& config) {
  const auto section = Section(config, "trace");
  return {.every = StepsFrom(section, "every"),
          .chrome = section.value("chrome", false),
          .sums = StepsFrom(section, "sums")};
}

/// The bits are the same in every run for true and "canonical".
void TakeDeterministic(JobSettings& settings, const Json& value) {
  if (!value.is_boolean() && value != "canonical") {
    Refuse(fmt::format("gradients.deterministic is {}, not one of true false canonical", value.dump()));
  }
  settings.gradients.any_bits = value == false;
  settings.canonical = value == "canonical";
}

Network NetworkFrom(const Json& name) {
  if (name.is_string()) {
    if (const auto network = NetworkOf(name.get<std::string>())) return *network;
  }
  Refuse(fmt::format("gradients.network is {}, not one of unknown dragonfly fat_tree", name.dump()));
}

/// What `gradients` of a configuration may hold beside the settings of teams.
constexpr struct {
  std::string_view name;
  void (*take)(JobSettings& settings, const Json& value);
} kFieldsOfJob[] = {
    {"deterministic", TakeDeterministic},
    {"network", [](JobSettings& settings, const Json& value) { settings.network = NetworkFrom(value); }},
    {"algorithms", [](JobSettings& settings, const Json& value) { settings.algorithms = value.get<std::string>(); }},
};

void TakeGradients(JobSettings& settings, const Json& gradients) {
  std::vector<std::string_view> names;
  for (const auto& field : kFieldsOfJob) names.push_back(field.name);
  settings.gradients = WithChanges({}, gradients, names);
  for (const auto& field : kFieldsOfJob) {
    if (const auto found = gradients.find(field.name); found != gradients.end()) field.take(settings, *found);
  }
}

}  // namespace

void RequireKnownValues() {
  const auto require = [](const char* name, bool (*is_known)(const std::string&), const char* known) {
    const auto value = Variable(name);
    if (value.empty() || is_known(value)) return;
    throw RuntimeError(SLIPWAY_ERROR_ARGUMENT, fmt::format("{} is '{}', not {}", name, value, known));
  };
  const auto is_switch = [](const std::string& value) { return value == "0" || value == "1"; };
  const auto is_number = [](const std::string& value) {
    int number = 0;
    return ParseNumber(value, number) && number >= 1;
  };
  require("SLIPWAY_RANKS_PER_NODE", is_number, "a number of ranks from 1");
  require("SLIPWAY_TORCH_MEMORY", is_switch, "0 or 1");
  require("SLIPWAY_MPI_CHECK", is_switch, "0 or 1");
}

JobSettings ReadSettings(const char* config) try {
  const auto json = ParseConfiguration(config != nullptr ? config : Variable("SLIPWAY_CONFIG"));
  const auto gradients = Section(json, "gradients");
  JobSettings settings;
  if (const auto metrics = Variable("SLIPWAY_METRICS"); !metrics.empty()) {
    settings.attempt_folder = fs::path(metrics).parent_path();
  }
  settings.checkpoints = CheckpointSettings(json);
  TakeGradients(settings, gradients);
  settings.watch = WatchSettingsFrom(json, settings.attempt_folder);
  settings.trace = TraceSettingsFrom(json);
  settings.shared = fmt::format("{} {}", gradients.dump(), Section(json, "trace").dump());
  return settings;
} catch (const nlohmann::json::exception& error) {
  throw RuntimeError(SLIPWAY_ERROR_ARGUMENT, fmt::format("the configuration is malformed: {}", error.what()));
}

Json ParseJson(const std::string& text, const std::string& refusal) try {
  // Copies and comparisons of values call themselves for what is inside.
  constexpr int kDeepest = 50;
  return Json::parse(text, [](int depth, Json::parse_event_t, const Json&) {
    if (depth > kDeepest) throw RuntimeError(SLIPWAY_ERROR_ARGUMENT, "too much lies inside one another");
    return true;
  });
} catch (const std::exception& error) {
  throw RuntimeError(SLIPWAY_ERROR_ARGUMENT, fmt::format("{}: {}", refusal, error.what()));
}

std::optional<std::int64_t> SharedMemoryLimit() {
  constexpr auto kNoLimit = std::numeric_limits<std::int64_t>::max();
  const auto text = Variable("SLIPWAY_SHARED_MEMORY_LIMIT");
  if (text.empty()) return kNoLimit;
  const auto bytes = ParseBytes(text);
  if (!bytes) return std::nullopt;
  return static_cast<std::int64_t>(std::min<std::uint64_t>(bytes->count, static_cast<std::uint64_t>(kNoLimit)));
}

}  // namespace slipway::runtime
