#include "launcher/watch/read_workflow_run.h"

#include <algorithm>

#include "core/parse_utc.h"
#include "launcher/run/workflow/run_looks.h"
#include "launcher/run/workflow/step_observation.h"
#include "launcher/run/workflow/workflow_status.h"
#include "launcher/watch/read_single.h"

namespace slipway::launcher::watch {
namespace {

namespace fs = std::filesystem;

/// Those that someone may have to look at come first.
int RankOf(StepState state) {
  switch (state) {
    case StepState::kRunning: return 0;
    case StepState::kFailed: return 1;
    case StepState::kReady: return 2;
    case StepState::kWaiting: return 3;
    case StepState::kBlocked: return 4;
    case StepState::kCancelled: return 5;
    case StepState::kSkipped: return 6;
    case StepState::kDone: return 7;
    case StepState::kReused: break;
  }
  return 8;
}

/// Whether it has a run of its own.
bool IsRun(const StoredStep& step) {
  return step.kind == WordOf(StepKind::kExperiment) || step.kind == WordOf(StepKind::kEnsemble);
}

StepLine LineOf(const StepRow& row, const RunFolder& folder) {
  const auto& record = row.record;
  StepLine line;
  line.name = row.step.name;
  line.kind = row.step.kind;
  line.state = WordOf(record.state);
  line.rank = RankOf(record.state);
  if (record.state == StepState::kRunning) line.since = UnixSecondsIn(record.time);
  if (record.seconds > 0) line.seconds = record.seconds;
  line.reason = row.removed ? "its result was removed" : record.reason;
  const auto runs = IsRun(row.step) ? ListRuns(StepFolder(folder, row.step.name)) : std::vector<RunFolder>();
  if (!runs.empty()) line.run = runs.back().path();
  return line;
}

/// When a workflow was lost is not recorded: the last that its steps say.
std::optional<double> EndOf(const WorkflowLook& look) {
  auto end = UnixSecondsIn(look.state.ended);
  if (end || !HasEnded(look.state.phase)) return end;
  end = UnixSecondsIn(look.state.started);
  for (const auto& [step, record] : look.records) end = std::max(end, UnixSecondsIn(record.time));
  return end;
}

}  // namespace

bool WorkflowReader::ReadSteps(const fs::path& path, WatchData& data) {
  const auto folder = directory_.Name(RunFolder::Open(path));
  const auto stored = folder.ReadState();
  auto stamps = StampsOf(FilesOfWorkflowRun(folder));
  const bool is_known = data.workflow && data.workflow->folder == path;
  if (is_known && stamps == stamps_ && stored.phase == phase_ && clock_.Steady() < look_again_) return false;
  const auto look = SeeWorkflow(folder);
  const auto& state = look.state;
  auto glance = std::make_shared<WorkflowGlance>();
  const auto rows = StepRowsOf(folder, look);
  glance->id = folder.id();
  glance->folder = path;
  glance->selector = folder.selector();
  glance->phase = state.phase;
  glance->reason = state.reason;
  glance->started = UnixSecondsIn(state.started);
  glance->ended = EndOf(look);
  glance->counts = CountsText(rows);
  for (const auto& row : rows) glance->steps.push_back(LineOf(row, folder));
  data.workflow = std::move(glance);
  stamps_ = std::move(stamps);
  phase_ = stored.phase;
  // Slurm's jobs, what goes on without its manager, and steps whose runs pause change nothing in the files of this run.
  const bool may_change = IsCarriedOutBySlurm(folder, state) || state.phase == Phase::kLost ||
                          std::ranges::any_of(rows, [](const StepRow& row) {
                            return row.record.state == StepState::kRunning && IsRun(row.step);
                          });
  look_again_ = may_change ? clock_.Steady() + kAskSlurmEvery : SteadyTime::max();
  return true;
}

bool WorkflowReader::ReadStepLog(const Interest& interest, WatchData& data) {
  const auto file = StepFolder(RunFolder::Open(interest.workflow), interest.step) / "log";
  const auto stamp = StampOf(file);
  if (data.log.file == file && stamp == log_stamp_) return false;
  data.log = ReadLog(file);
  log_stamp_ = stamp;
  return true;
}

bool WorkflowReader::Refresh(const Interest& interest, WatchData& data) {
  if (interest.workflow.empty()) return false;
  const bool steps_changed = ReadSteps(interest.workflow, data);
  const bool log_changed = !interest.step.empty() && ReadStepLog(interest, data);
  return steps_changed || log_changed;
}

}  // namespace slipway::launcher::watch
