#include "launcher/run_folder/run_state.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/json_fields.h"
#include "launcher/run_folder/end_reason.h"

namespace slipway::launcher {
namespace {

constexpr const char* kStateSchema = "slipway.state/1";

struct PhaseRow {
  Phase phase;
  std::string_view name;
  bool ended;
  int exit_code;
};

constexpr std::array kPhases = {
    PhaseRow{Phase::kCreated, "created", false, 0},      PhaseRow{Phase::kQueued, "queued", false, 0},
    PhaseRow{Phase::kStaging, "staging", false, 0},      PhaseRow{Phase::kRunning, "running", false, 0},
    PhaseRow{Phase::kSucceeded, "succeeded", true, 0},   PhaseRow{Phase::kFailed, "failed", true, 1},
    PhaseRow{Phase::kCancelled, "cancelled", true, 130}, PhaseRow{Phase::kLost, "lost", true, 1},
};

/// JSON has no word for NaN and the infinities.
Json MetricsJson(const std::map<std::string, double>& metrics) {
  Json json = Json::object();
  for (const auto& [name, value] : metrics)
    json[name] = std::isfinite(value) ? Json(value) : Json(std::to_string(value));
  return json;
}

std::map<std::string, double> MetricsFrom(const Json& json) {
  std::map<std::string, double> metrics;
  for (const auto& [name, value] : json.items()) {
    metrics[name] = value.is_string() ? std::strtod(value.get<std::string>().c_str(), nullptr) : value.get<double>();
  }
  return metrics;
}

/// Versions before the first release had only words.
std::optional<EndCause> CauseFrom(const Json& json) {
  if (!json.contains("cause")) {
    // next step: added by ReadStoredState
    throw Error(ErrorKind::kEnvironment, "state.json is of an earlier version of Slipway: it has no 'cause'");
  }
  const auto& stored = json["cause"];
  return stored.is_null() ? std::nullopt : std::optional(EndCauseFromJson(stored));
}

const PhaseRow& RowOf(Phase phase) { return kPhases[static_cast<std::size_t>(phase)]; }

}  // namespace

std::string_view PhaseName(Phase phase) { return RowOf(phase).name; }
bool HasEnded(Phase phase) { return RowOf(phase).ended; }
int OutcomeExitCode(Phase phase) { return RowOf(phase).exit_code; }

std::optional<Phase> ParsePhase(std::string_view name) {
  for (const auto& row : kPhases) {
    if (row.name == name) return row.phase;
  }
  return {};
}

void EndAs(RunState& state, Phase phase, EndCause ended) {
  state.phase = phase;
  state.reason = ReasonFor(ended, state.run);
  state.cause = std::move(ended);
}

void ForgetEnd(RunState& state) {
  state.ended.clear();
  state.cause.reset();
  state.reason.clear();
  state.detail.clear();
}

bool IsReady(const RunState& state) { return state.phase == Phase::kCreated && state.manager.pid == 0; }

std::string DescribeReady(std::string_view run) {
  return fmt::format("ready: go on with slipway trials ask {0}, trials serve {0} or resume {0}", run);
}

bool WasTakenUp(const RunState& before, const RunState& now) {
  return now.manager != before.manager || now.attempt != before.attempt;
}

Json ToJson(const RunState& state) {
  return Json{{"schema", kStateSchema},
              {"run", state.run},
              {"name", state.name},
              {"phase", PhaseName(state.phase)},
              {"ensemble", state.ensemble},
              {"attempt", state.attempt},
              {"created", state.created},
              {"started", state.started},
              {"ended", state.ended},
              {"cause", state.cause ? ToJson(*state.cause) : Json()},
              {"reason", state.reason},
              {"detail", state.detail},
              {"host", state.host},
              {"batch_job", state.batch_job},
              {"batch_task", state.batch_task ? Json(*state.batch_task) : Json()},
              {"batch_cluster", state.batch_cluster},
              {"metrics", MetricsJson(state.metrics)},
              {"manager", ToJson(state.manager)},
              {"job", ToJson(state.job)}};
}

namespace {

[[noreturn]] void RefuseState(std::string_view why) {
  // next step: added by ReadStoredState
  throw Error(ErrorKind::kEnvironment, fmt::format("state.json is damaged: {}", why));
}

/// Without the name of the library's exception.
std::string_view WhyOf(const nlohmann::json::exception& error) {
  const std::string_view text = error.what();
  const auto name_ends = text.find("] ");
  return name_ends == std::string_view::npos ? text : text.substr(name_ends + 2);
}

}  // namespace

RunState RunStateFromJson(const Json& json) {
  if (json.is_discarded()) RefuseState("it is no JSON document");
  if (!json.is_object()) RefuseState("it is no JSON object");
  RequireVersion(json, kStateSchema, "state.json");
  try {
    RunState state;
    state.run = json.at("run").get<std::string>();
    state.name = json.at("name").get<std::string>();
    const auto phase = ParsePhase(json.at("phase").get<std::string>());
    // next step: added by ReadStoredState
    if (!phase) throw Error(ErrorKind::kEnvironment, "unknown phase in state.json");
    state.phase = *phase;
    state.ensemble = json.at("ensemble").get<bool>();
    state.attempt = json.at("attempt").get<int>();
    state.created = json.at("created").get<std::string>();
    state.started = json.at("started").get<std::string>();
    state.ended = json.at("ended").get<std::string>();
    state.cause = CauseFrom(json);
    state.reason = json.at("reason").get<std::string>();
    state.detail = json.at("detail").get<std::string>();
    state.host = json.at("host").get<std::string>();
    state.batch_job = json.value("batch_job", std::uint32_t{0});
    if (const auto task = json.value("batch_task", Json()); !task.is_null())
      state.batch_task = task.get<std::uint32_t>();
    state.batch_cluster = json.value("batch_cluster", std::string());
    state.metrics = MetricsFrom(json.value("metrics", Json::object()));
    state.manager = ProcessIdentityFromJson(json.at("manager"));
    state.job = ProcessIdentityFromJson(json.at("job"));
    return state;
  } catch (const nlohmann::json::exception& error) {
    RefuseState(WhyOf(error));
  }
}

}  // namespace slipway::launcher
