#include "launcher/cli/commands/find_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/files.h"
#include "core/nearest_word.h"
#include "launcher/run/workflow/result_store.h"
#include "launcher/run/workflow/step_journal.h"
#include "launcher/run/workflow/workflow_folder.h"

namespace slipway::launcher {
namespace {

bool IsPath(const std::string& selector) { return selector[0] == '.' || selector.find('/') != std::string::npos; }

RunFolder FindPlainRun(const Session& session, const std::string& selector) {
  return FindRun(session.runs(), selector, [&](const std::string& text) { session.output.Warn(text); });
}

RunFolder RunAt(const std::string& path) {
  auto run = RunFolder::Open(path);
  run.SetSelector(path);
  return run;
}

/// The step that "RUN/step" names, whatever it is. RUN may be a path.
std::optional<StepOfRun> StepNamed(const Session& session, const std::string& selector) {
  const auto slash = selector.rfind('/');
  const bool is_one = slash != std::string::npos && slash > 0 && slash + 1 < selector.size() && !Exists(selector);
  if (!is_one) return {};
  const auto owner = selector.substr(0, slash);
  if (IsPath(owner) && !Exists(std::filesystem::path(owner) / "state.json")) return {};
  auto run = IsPath(owner) ? RunAt(owner) : FindPlainRun(session, owner);
  return IsWorkflowRun(run) ? std::optional(StepOfRun{std::move(run), selector.substr(slash + 1)}) : std::nullopt;
}

/// The run of an earlier workflow run whose result the step has reused.
std::optional<RunFolder> ReusedRunOf(const StepOfRun& step) {
  const auto records = ReadStepJournal(step.run.path());
  const auto record = records.find(step.step);
  if (record == records.end() || record->second.result.empty()) return {};
  ResultStore store(step.run.path().parent_path());
  if (!store.IsThere(record->second.result)) return {};
  const auto folder = store.Read(record->second.result).run_folder;
  return folder.empty() ? std::nullopt : std::optional(RunFolder::Open(folder));
}

void RequireStep(const StepOfRun& step) {
  std::vector<std::string> names;
  for (const auto& stored : ReadStoredWorkflow(step.run).steps) names.push_back(stored.name);
  if (std::ranges::find(names, step.step) == names.end()) throw NoSuchStep(step.step, names);
}

/// The newest run of a step that is an experiment or ensemble.
std::optional<RunFolder> RunOf(const StepOfRun& step) {
  auto runs = ListRuns(StepFolder(step.run, step.step));
  return runs.empty() ? ReusedRunOf(step) : std::optional(std::move(runs.back()));
}

}  // namespace

std::optional<StepOfRun> FindStep(const Session& session, const std::string& selector) {
  auto step = StepNamed(session, selector);
  return step && !RunOf(*step) ? std::move(step) : std::nullopt;
}

RunFolder FindExperiment(const Session& session, const std::string& selector) {
  auto run = FindRun(session, selector);
  if (!IsWorkflowRun(run)) return run;
  throw Error(
      ErrorKind::kUsage, fmt::format("run {} is a workflow: this command looks at one experiment", run.id()),
      fmt::format("name one of its steps, such as {0}/STEP; see them with: slipway status {0}", run.selector()));
}

RunFolder FindWorkflow(const Session& session, const std::string& selector) {
  auto run = FindRun(session, selector);
  if (IsWorkflowRun(run)) return run;
  throw Error(ErrorKind::kUsage, fmt::format("run {} is no workflow: this command looks at the steps of one", run.id()),
              fmt::format("see what it is with: slipway status {}", run.selector()));
}

Error NoSuchStep(const std::string& step, const std::vector<std::string>& names) {
  const auto nearest = NearestWord(step, names);
  return {ErrorKind::kUsage,
          fmt::format("the workflow has no step '{}'{}", step,
                      nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest)),
          "see its steps with: slipway plan FILE, or slipway status RUN"};
}

RunFolder FindRun(const Session& session, const std::string& selector) {
  const auto step = StepNamed(session, selector);
  if (!step) return FindPlainRun(session, selector);
  if (auto run = RunOf(*step)) {
    const bool is_found_by_id = !IsPath(selector.substr(0, selector.rfind('/')));
    const auto& below = session.named_runs_directory;
    run->SetSelector(is_found_by_id && !below.empty() ? (below / step->run.id() / step->step).string() : selector);
    return std::move(*run);
  }
  RequireStep(*step);
  throw Error(ErrorKind::kUsage,
              fmt::format("step '{}' of {} has no run: it is no experiment, has not started, or its result was removed",
                          step->step, step->run.id()),
              fmt::format("see its state with slipway status {0}, and what it printed with slipway logs {0}/{1}",
                          step->run.selector(), step->step));
}

}  // namespace slipway::launcher
