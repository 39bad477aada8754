#include "launcher/run/workflow/workflow_status.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <nlohmann/json.hpp>

#include "core/text.h"
#include "core/text_table.h"
#include "core/units.h"
#include "launcher/run/workflow/step_observation.h"
#include "launcher/run/workflow/workflow_folder.h"

namespace slipway::launcher {
namespace {

constexpr std::size_t kMostRows = 40;

/// A step and what has happened to it.
struct Row {
  StoredStep step;
  StepRecord record;
};

std::vector<Row> RowsOf(const RunFolder& folder, const RunState& state) {
  auto records = ObserveSteps(folder).records;
  std::vector<Row> rows;
  for (auto& step : ReadStoredWorkflow(folder).steps) {
    auto record = records[step.name];
    // Nothing runs or waits for a manager that is gone.
    if (HasEnded(state.phase) && !IsFinal(record.state)) record.state = StepState::kCancelled;
    rows.push_back({std::move(step), std::move(record)});
  }
  return rows;
}

std::map<StepState, int> CountsOf(const std::vector<Row>& rows) {
  std::map<StepState, int> counts;
  for (const auto& row : rows) ++counts[row.record.state];
  return counts;
}

std::string CountsText(const std::vector<Row>& rows) {
  std::vector<std::string> parts;
  for (const auto& [state, count] : CountsOf(rows)) parts.push_back(fmt::format("{} {}", count, WordOf(state)));
  return fmt::format("{} of {} steps", fmt::join(parts, ", "), rows.size());
}

/// Of many steps only those that someone may have to look at.
bool IsShown(const Row& row, std::size_t count) {
  const auto state = row.record.state;
  return count <= kMostRows || state == StepState::kRunning || state == StepState::kFailed;
}

std::string TableOf(const std::vector<Row>& rows) {
  TextTable table({"step", "kind", "state", "took", "why"});
  std::size_t shown = 0;
  for (const auto& row : rows) {
    if (!IsShown(row, rows.size()) || shown++ >= kMostRows) continue;
    const auto took = row.record.seconds > 0 ? FormatDuration(Seconds(row.record.seconds)) : std::string();
    table.AddRow({row.step.name, row.step.kind, std::string(WordOf(row.record.state)), took,
                  std::string(FirstLine(row.record.reason))});
  }
  return shown == 0 ? std::string() : "\n\n" + table.Render();
}

Json StepDocument(const Row& row, const RunFolder& folder) {
  return {{"name", row.step.name},
          {"kind", row.step.kind},
          {"description", row.step.description},
          {"needs", row.step.needs},
          {"state", WordOf(row.record.state)},
          {"attempt", row.record.attempt},
          {"reason", row.record.reason},
          {"seconds", row.record.seconds},
          {"result", row.record.result},
          {"job", row.record.job},
          {"folder", StepFolder(folder, row.step.name).string()}};
}

}  // namespace

Json WorkflowDocument(const RunFolder& folder, const RunState& state) {
  const auto rows = RowsOf(folder, state);
  Json document{{"schema", "slipway.workflow/1"},
                {"run", folder.id()},
                {"name", state.name},
                {"phase", PhaseName(state.phase)},
                {"reason", state.reason},
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

std::string DescribeWorkflow(const RunFolder& folder, const RunState& state) {
  const auto rows = RowsOf(folder, state);
  auto text = fmt::format("{}  {}", folder.id(), PhaseName(state.phase));
  if (!state.reason.empty()) text += "\n  " + state.reason;
  text += fmt::format("\n  {}\n  folder  {}", CountsText(rows), folder.path().string());
  if (state.phase == Phase::kFailed) text += fmt::format("\n  why     slipway explain {}", folder.id());
  return text + TableOf(rows);
}

void PrintWorkflow(const RunFolder& folder, const RunState& state, Output& output) {
  const bool is_read = output.mode() == OutputMode::kHuman;
  const auto document = output.mode() == OutputMode::kJson ? WorkflowDocument(folder, state) : Json::object();
  output.Print({document, is_read ? DescribeWorkflow(folder, state) : std::string(), folder.id()});
}

}  // namespace slipway::launcher
