#include "launcher/cli/commands/runs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "core/text.h"
#include "launcher/cli/commands/find_run.h"
#include "launcher/cli/commands/workflow.h"
#include "launcher/run/batch/batch_observation.h"
#include "launcher/run/batch/batch_run.h"
#include "launcher/run/batch/batch_wait.h"
#include "launcher/run/manager_process.h"
#include "launcher/run/results/stage_out_record.h"
#include "launcher/run/trials/batch_trial.h"
#include "launcher/run/trials/open_book.h"
#include "launcher/run/workflow/step_observation.h"
#include "launcher/run/workflow/step_submission.h"
#include "launcher/run/workflow/workflow_folder.h"
#include "launcher/run_folder/gpu_record.h"
#include "launcher/run_folder/manager_elsewhere.h"
#include "launcher/run_folder/pause_note.h"
#include "launcher/run_folder/prepare.h"
#include "launcher/run_folder/run_folder.h"
#include "launcher/run_folder/run_tags.h"
#include "launcher/trials/model_ensemble.h"
#include "launcher/trials/trials_glance.h"

namespace slipway::launcher {
namespace {

/// Where an ended run has left something; nothing while it lives.
std::optional<StageOutRecord> LeftBehind(const RunFolder& run, const RunState& state) try {
  return HasEnded(state.phase) ? ReadOutboxRecord(run) : std::nullopt;
} catch (const Error&) {  // damaged: `stage out` says it, and the status of the run is wanted here
  return {};
}

std::optional<ModelEnsemble> ModelsOf(const RunFolder& run, const RunState& state) {
  return state.ensemble ? ReadModelEnsemble(run.path()) : std::nullopt;
}

std::vector<MeasuredGpu> GpusOf(const RunFolder& run) try {
  return ReadGpuRecord(run.gpus_file());
} catch (const Error&) {  // damaged: `report` says it
  return {};
}

std::optional<RunPause> PauseOf(const RunFolder& run, const RunState& state) {
  return MayStandStill(state.phase) ? ReadPause(run.path()) : std::nullopt;
}

}  // namespace

Json StatusDocument(const RunFolder& run, const RunState& state) {
  auto document = ToJson(state);
  document["schema"] = "slipway.status/1";
  document["folder"] = run.path().string();
  const auto pause = PauseOf(run, state);
  document["paused"] = pause ? ToJson(*pause) : Json();
  document.update(WriteFields(RunTagsOrNone(run)));
  if (const auto left = LeftBehind(run, state)) document["left_in_tier"] = left->directory.string();
  if (const auto models = ModelsOf(run, state)) document["model_ensemble"] = ToJson(*models);
  if (const auto gpus = GpusOf(run); !gpus.empty()) document["gpus"] = WriteFields(gpus);
  document["changes"] = Json::array();
  for (const auto& change : PastChanges(run)) document["changes"].push_back(ToJson(change));
  document["outcome"] = HasEnded(state.phase) ? Json(OutcomeExitCode(state.phase)) : Json(nullptr);
  return document;
}

namespace {

/// Until it starts, what is known is when its folder was made.
std::string BeginText(const RunState& state) {
  if (!state.started.empty()) return "started " + state.started;
  return fmt::format("{} {}", state.phase == Phase::kQueued || state.batch_job != 0 ? "submitted" : "created",
                     state.created);
}

std::string StatusText(const RunFolder& run, const RunState& state) {
  auto text = fmt::format("{}  {}", run.id(), PhaseName(state.phase));
  if (state.attempt > 1) text += fmt::format(" (attempt {})", state.attempt);
  if (!state.reason.empty()) text += "\n  " + state.reason;
  text += "\n  " + BeginText(state);
  if (!state.ended.empty()) text += fmt::format(", ended {}", state.ended);
  text += fmt::format("\n  folder  {}", run.path().string());
  const auto [tags, description] = RunTagsOrNone(run);
  if (!description.empty()) text += "\n  about   " + description;
  if (!tags.empty()) text += fmt::format("\n  tags    {}", fmt::join(tags, " "));
  for (const auto& [name, value] : state.metrics) text += fmt::format("\n  {:<24} {:.6g}", OnOneLine(name), value);
  if (const auto models = ModelsOf(run, state)) text += "\n  model ensemble  " + Describe(*models);
  for (const auto& [time, change] : PastChanges(run)) text += fmt::format("\n  changed {}, {}", Describe(change), time);
  if (const auto left = LeftBehind(run, state)) {
    text +=
        fmt::format("\n  left    {}; copy it out with: slipway stage out {}", left->directory.string(), run.selector());
  }
  if (!state.detail.empty()) text += "\n\n" + state.detail;
  return text;
}

/// What is read from the book of trials, and so only of the run that is asked for. Warns of a book that cannot be read.
std::optional<TrialsGlance> TrialsOf(const RunFolder& run, const RunState& state, Output& output) try {
  if (!state.ensemble) return {};
  RequireBook(run);
  return GlanceAtTrials(run.path());
} catch (const Error& error) {
  output.Warn(fmt::format("its trials cannot be read: {}", error.message()));
  return {};
}

int PrintStatus(const RunFolder& run, const RunState& state, Session& session) {
  if (IsWorkflowRun(run)) return ShowWorkflow(run, session, state);
  auto document = StatusDocument(run, state);
  auto text = StatusText(run, state);
  if (const auto trials = TrialsOf(run, state, session.output)) {
    document["trials"] = ToJson(*trials);
    text.insert(std::min(text.find("\n\n"), text.size()), "\n" + Describe(*trials));
  }
  session.output.Print({document, text, PhaseName(state.phase)});
  return OutcomeExitCode(state.phase);
}

RunState StateOf(const RunFolder& run) { return IsWorkflowRun(run) ? ObserveWorkflow(run) : ObserveRun(run); }

std::optional<RunState> WaitForEndOf(const RunFolder& run, std::optional<Seconds> limit) {
  if (HasStepJobs(run)) return WaitForBatchEnd(run, limit, SleepOn, ObserveWorkflow);
  return IsInBatchSystem(run, run.ReadState()) ? WaitForBatchEnd(run, limit) : WaitForEnd(run, limit);
}

void AskToEnd(const RunFolder& run, const RunState& state) {
  if (HasStepJobs(run)) {
    CancelSteps(run);
  } else if (IsInBatchSystem(run, state)) {
    CancelBatchRun(run, state);
  } else {
    AskToStop(state);
  }
}

/// Also of a run whose job still copies results out, which is seen as running: there is nothing left to cancel.
int SayItHasEnded(const RunFolder& run, const RunState& state, Session& session) {
  const auto stored = run.ReadState().phase;
  const auto phase = PhaseName(HasEnded(state.phase) ? state.phase : stored);
  auto text = fmt::format("{} has ended already: {}", run.id(), phase);
  if (const int jobs = EndJobsOfTrials(run); jobs > 0) text += fmt::format("; {} jobs of trials were ended", jobs);
  if (!HasEnded(state.phase))
    text += fmt::format("\n  {}; wait for that: slipway wait {}", state.reason, run.selector());
  session.output.Print({StatusDocument(run, state), text, phase});
  return 0;
}

}  // namespace

int Status(const StatusOptions& options, Session& session) {
  const auto run = FindRun(session, options.run);
  return IsWorkflowRun(run) ? ShowWorkflow(run, session) : PrintStatus(run, ObserveRun(run), session);
}

int Wait(const WaitOptions& options, Session& session) {
  const auto run = FindRun(session, options.run);
  const auto state = WaitForEndOf(run, options.timeout);
  if (!state) {
    throw Error(ErrorKind::kTryAgain,
                fmt::format("run {} has not ended within {}", run.id(), FormatDuration(*options.timeout)),
                fmt::format("see what it does: slipway logs -f {}", run.selector()));
  }
  return PrintStatus(run, *state, session);
}

bool AskToCancel(const RunFolder& run) {
  RequireManagerHere(run.ReadState());
  const auto state = StateOf(run);
  if (HasEnded(state.phase) || HasEnded(run.ReadState().phase)) return false;
  if (IsReady(state)) {
    CancelReady(run);
  } else {
    AskToEnd(run, state);
  }
  return true;
}

int Cancel(const CancelOptions& options, Session& session) {
  const auto run = FindRun(session, options.run);
  if (!AskToCancel(run)) return SayItHasEnded(run, StateOf(run), session);
  const auto state = *WaitForEndOf(run, {});
  session.output.Print(
      {StatusDocument(run, state), fmt::format("{} is {}", run.id(), PhaseName(state.phase)), PhaseName(state.phase)});
  return 0;
}

}  // namespace slipway::launcher
