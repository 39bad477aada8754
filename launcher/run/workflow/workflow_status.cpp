#include "launcher/run/workflow/workflow_status.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/error.h"
#include "core/files.h"
#include "core/process_identity.h"
#include "core/text.h"
#include "core/text_table.h"
#include "core/units.h"
#include "launcher/run_folder/manager_elsewhere.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostRows = 40;

fs::path ResultsBeside(const RunFolder& folder) { return folder.path().parent_path() / ".results"; }

bool IsRemoved(const StepRecord& record, const fs::path& results) {
  return HasResult(record.state) && !record.result.empty() && !Exists(results / record.result);
}

/// Experiments and ensembles have managers of their own, and go on.
void LookAtOwnRun(const RunFolder& run, StepRecord& record) {
  const auto phase = run.ReadState().phase;
  if (HasEnded(phase)) record.state = StepState::kWaiting;
  record.reason = HasEnded(phase) ? fmt::format("its run {} is {}; resume takes it up", run.id(), PhaseName(phase))
                                  : fmt::format("its run {} goes on under its own manager", run.id());
}

void LookAtProgram(StepRecord& record) {
  const bool runs = IsAlive(record.process);
  if (!runs) record.state = StepState::kWaiting;
  record.reason = runs ? "its program still runs; resume ends it and starts the step again"
                       : "its program is gone; resume starts the step again";
}

/// A step that ran when the workflow's manager was killed on this host.
void LookAgain(const RunFolder& folder, const std::string& step, StepRecord& record) try {
  const auto runs = ListRuns(StepFolder(folder, step));
  runs.empty() ? LookAtProgram(record) : LookAtOwnRun(runs.back(), record);
} catch (const Error& error) {
  record.reason = error.message();
}

std::optional<RunPause> PauseOfStep(const RunFolder& folder, const std::string& step) try {
  const auto runs = ListRuns(StepFolder(folder, step));
  return runs.empty() ? std::nullopt : PauseOfStepRun(runs.back().path());
} catch (const Error&) {  // its state is damaged, which the end of the step tells
  return std::nullopt;
}

void AfterEnd(const RunFolder& folder, const RunState& run, const std::string& step, StepRecord& record) {
  if (IsFinal(record.state)) return;
  if (run.phase != Phase::kLost) {
    record.state = StepState::kCancelled;
  } else if (record.state == StepState::kRunning && record.job == 0) {
    if (IsOnOtherHost(run)) {
      record.reason = fmt::format("it may still run on {}", run.host);
    } else {
      LookAgain(folder, step, record);
    }
  }
}

}  // namespace

std::optional<RunPause> PauseOfStepRun(const fs::path& run_folder) {
  auto pause = ReadPause(run_folder);
  if (pause && !MayStandStill(RunFolder::Open(run_folder).ReadState().phase)) pause.reset();
  return pause;
}

std::vector<StepRow> StepRowsOf(const RunFolder& folder, const WorkflowLook& look) {
  auto records = look.records;
  const auto results = ResultsBeside(folder);
  std::vector<StepRow> rows;
  for (auto& step : ReadStoredWorkflow(folder).steps) {
    auto record = records[step.name];
    if (HasEnded(look.state.phase)) AfterEnd(folder, look.state, step.name, record);
    auto pause = record.state == StepState::kRunning ? PauseOfStep(folder, step.name) : std::nullopt;
    if (pause) record.reason = Describe(*pause);
    const bool removed = IsRemoved(record, results);
    rows.push_back({std::move(step), std::move(record), removed, std::move(pause)});
  }
  return rows;
}

namespace {

std::size_t RemovedAmong(const std::vector<StepRow>& rows) {
  return static_cast<std::size_t>(std::ranges::count(rows, true, &StepRow::removed));
}

std::map<StepState, int> CountsOf(const std::vector<StepRow>& rows) {
  std::map<StepState, int> counts;
  for (const auto& row : rows) ++counts[row.record.state];
  return counts;
}

}  // namespace

std::string CountsText(const std::vector<StepRow>& rows) {
  std::vector<std::string> parts;
  for (const auto& [state, count] : CountsOf(rows)) parts.push_back(fmt::format("{} {}", count, WordOf(state)));
  return fmt::format("{} of {} steps", fmt::join(parts, ", "), rows.size());
}

namespace {

/// Of many steps only those that someone may have to look at.
bool IsShown(const StepRow& row, std::size_t count) {
  const auto state = row.record.state;
  return count <= kMostRows || state == StepState::kRunning || state == StepState::kFailed;
}

std::string TableOf(const std::vector<StepRow>& rows) {
  TextTable table({"step", "kind", "state", "took", "why"});
  std::size_t shown = 0;
  for (const auto& row : rows) {
    if (!IsShown(row, rows.size()) || shown++ >= kMostRows) continue;
    const auto took = row.record.seconds > 0 ? FormatDuration(Seconds(row.record.seconds)) : std::string();
    table.AddRow({row.step.name, row.step.kind, std::string(WordOf(row.record.state)), took,
                  row.removed ? "its result was removed" : std::string(FirstLine(row.record.reason))});
  }
  return shown == 0 ? std::string() : "\n\n" + table.Render();
}

Json StepDocument(const StepRow& row, const RunFolder& folder) {
  return {{"name", row.step.name},
          {"kind", row.step.kind},
          {"description", row.step.description},
          {"needs", row.step.needs},
          {"state", WordOf(row.record.state)},
          {"attempt", row.record.attempt},
          {"reason", row.record.reason},
          {"paused", row.pause ? ToJson(*row.pause) : Json()},
          {"seconds", row.record.seconds},
          {"result", row.record.result},
          {"removed", row.removed},
          {"job", row.record.job},
          {"array_task", row.record.task ? Json(*row.record.task) : Json()},
          {"folder", StepFolder(folder, row.step.name).string()}};
}

}  // namespace

std::vector<std::string> StepsWithRemovedResult(const RunFolder& folder) {
  std::vector<std::string> names;
  for (const auto& row : StepRowsOf(folder, SeeWorkflow(folder))) {
    if (row.removed) names.push_back(row.step.name);
  }
  return names;
}

Json WorkflowDocument(const RunFolder& folder, const WorkflowLook& look) {
  const auto& state = look.state;
  const auto rows = StepRowsOf(folder, look);
  const auto pause = MayStandStill(state.phase) ? ReadPause(folder.path()) : std::nullopt;
  Json document{{"schema", "slipway.workflow/1"},
                {"run", folder.id()},
                {"name", state.name},
                {"phase", PhaseName(state.phase)},
                {"reason", state.reason},
                {"paused", pause ? ToJson(*pause) : Json()},
                {"created", state.created},
                {"started", state.started},
                {"ended", state.ended},
                {"folder", folder.path().string()},
                {"outcome", HasEnded(state.phase) ? Json(OutcomeExitCode(state.phase)) : Json()},
                {"counts", Json::object()},
                {"steps", Json::array()}};
  for (const auto& [word, count] : CountsOf(rows)) document["counts"][std::string(WordOf(word))] = count;
  for (const auto& row : rows) document["steps"].push_back(StepDocument(row, folder));
  return document;
}

std::string DescribeWorkflow(const RunFolder& folder, const WorkflowLook& look) {
  const auto& state = look.state;
  const auto rows = StepRowsOf(folder, look);
  auto text = fmt::format("{}  {}", folder.id(), PhaseName(state.phase));
  if (!state.reason.empty()) text += "\n  " + state.reason;
  text += fmt::format("\n  {}\n  folder  {}", CountsText(rows), folder.path().string());
  if (const auto removed = RemovedAmong(rows); removed > 0) {
    text += fmt::format("\n  removed {} results; slipway resume {} makes them again", removed, folder.selector());
  }
  if (state.phase == Phase::kFailed) text += fmt::format("\n  why     slipway explain {}", folder.selector());
  return text + TableOf(rows);
}

void PrintWorkflow(const RunFolder& folder, const WorkflowLook& look, Output& output) {
  const bool is_read = output.mode() == OutputMode::kHuman;
  const auto document = output.mode() == OutputMode::kJson ? WorkflowDocument(folder, look) : Json::object();
  output.Print({document, is_read ? DescribeWorkflow(folder, look) : std::string(), folder.id()});
}

}  // namespace slipway::launcher
