#include "launcher/cli/commands/run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/error.h"
#include "core/files.h"
#include "core/ownership.h"
#include "core/process.h"
#include "ensemble/manager/requests.h"
#include "launcher/cli/commands/find_run.h"
#include "launcher/cli/commands/follow.h"
#include "launcher/cli/commands/make_run.h"
#include "launcher/cli/commands/plan.h"
#include "launcher/cli/commands/workflow.h"
#include "launcher/cli/commands/workflow_jobs.h"
#include "launcher/run/batch/batch_observation.h"
#include "launcher/run/batch/batch_run.h"
#include "launcher/run/batch/batch_submission.h"
#include "launcher/run/batch/batch_turn.h"
#include "launcher/run/batch/job_of_run.h"
#include "launcher/run/batch/submit_remarks.h"
#include "launcher/run/manager.h"
#include "launcher/run/trials/open_book.h"
#include "launcher/run/trials/trial_order.h"
#include "launcher/run/workflow/step_observation.h"
#include "launcher/run/workflow/workflow_folder.h"
#include "launcher/run_folder/edited_spec.h"
#include "launcher/run_folder/prepare.h"
#include "launcher/spec/spec.h"
#include "launcher/view/report_page.h"
#include "launcher/workflow/is_workflow_file.h"

namespace slipway::launcher {
namespace {

/// Starts `slipway manage FOLDER` in a session of its own; what it says goes to manager.log. It begins when the
/// other end of `gate`, its standard input, is closed.
ChildProcess StartManager(const RunFolder& folder, int gate) {
  const auto log = OpenFile(folder.path() / "manager.log", O_WRONLY | O_CREAT | O_APPEND);
  SpawnOptions options;
  options.argv = {"/proc/self/exe", "manage", folder.path().string()};
  options.stdin_fd = gate;
  options.stdout_fd = log.get();
  options.stderr_fd = log.get();
  options.group = ProcessGroup::kOwnSession;
  return ChildProcess::Spawn(options);
}

/// The manager's name is in the state before the manager begins, so that the run never looks lost.
void HandOver(const RunFolder& folder) {
  const auto gate = MakePipe();
  auto manager = StartManager(folder, gate.read.get());
  auto state = folder.ReadState();
  state.manager = IdentityOf(manager.pid());
  folder.WriteState(state);
  manager.Release();
}

/// An ensemble can have more to do after success: its time was used up, or requests are unanswered.
bool HasMoreToDo(const RunFolder& folder, const RunState& state) {
  return state.ensemble && (Is<cause::OutOfTime>(state.cause) || !ensemble::WaitingRequests(folder.path()).empty());
}

bool IsDone(const RunFolder& folder, const RunState& state) {
  return state.phase == Phase::kSucceeded && !HasMoreToDo(folder, state);
}

/// True when the run is to be carried out by a job of its own. What cannot be submitted is refused before there is a
/// run folder.
bool NeedsSubmission(const Plan& plan) {
  if (plan.engine != "slurm") return false;
  const bool trials_are_jobs = TrialsAreJobs(plan.spec());
  if (OwnBatchJob().id != 0 && !trials_are_jobs) return false;
  RequireBatchSystem();
  return !trials_are_jobs;
}

/// Also of the jobs of trials, which come later.
void WarnBeforeSubmission(const Plan& plan, bool submits, Session& session) {
  if (!submits && !TrialsAreJobs(plan.spec())) return;
  for (const auto& remark : RemarksOnSubmission(plan)) session.output.Warn(remark);
}

/// Prints the run's id and how to go on.
void SaySubmitted(const RunFolder& folder, std::uint32_t job, Session& session) {
  Json document{{"schema", "slipway.submit/1"}, {"run", folder.id()}, {"folder", folder.path().string()}};
  if (job != 0) document["batch_job"] = job;
  const auto text = fmt::format("submitted {0}{1}\n  slipway status {2}\n  slipway logs -f {2}", folder.id(),
                                job != 0 ? fmt::format(" as job {}", job) : "", folder.selector());
  session.output.Print({document, text, folder.id()});
}

int SubmitWorkflow(const SpecSelection& selection, const WorkflowOptions& options, Session& session) {
  std::optional<HeldInterrupts> held;
  const auto folder = PrepareWorkflow(selection, options, held, session);
  if (HasStepJobs(folder)) return SaySubmittedSteps(folder, session);
  HandOver(folder);
  SaySubmitted(folder, 0, session);
  return 0;
}

bool WasRefused(const RunFolder& folder) try {
  return folder.ReadState().phase == Phase::kFailed;
} catch (const Error&) {
  return false;
}

std::uint32_t SubmitAsJob(const RunFolder& folder, const Plan& plan, Output& output) {
  const auto submitted = SubmitBatchRun(folder, plan);
  for (const auto& doubt : submitted.doubts) output.Warn(doubt);
  return submitted.job;
}

/// Of a run that is refused nothing has happened: its folder goes, and its spec can be submitted again. Where that is
/// in doubt, the folder stays.
std::uint32_t SubmitNewRun(const RunFolder& folder, const Plan& plan, Output& output) try {
  return SubmitAsJob(folder, plan, output);
} catch (Error& error) {
  if (WasRefused(folder)) {
    RemoveTree(folder.path());
    error.AddContext(fmt::format("run {} was not submitted, and its folder is removed", folder.id()));
  }
  throw;
}

/// What waits in a queue or runs in a job is not taken from it.
void RequireEnd(const RunFolder& folder, const RunState& state) {
  if (!IsInBatchSystem(folder, state)) return;
  const auto reason = state.reason.empty() ? "" : fmt::format(" ({})", state.reason);
  throw Error(
      ErrorKind::kBusy, fmt::format("run {} has not ended: {}{}", folder.id(), PhaseName(state.phase), reason),
      fmt::format("see what it does with slipway status {0}, or end it with slipway cancel {0}", folder.selector()));
}

int SayNothingToResume(const RunFolder& folder, const RunState& state, Session& session) {
  session.output.Print(
      {ToJson(state), fmt::format("{} has succeeded; there is nothing to resume", folder.id()), folder.id()});
  return 0;
}

/// The exit code of a `resume` that has nothing to do; nothing otherwise.
std::optional<int> SayIfDone(const RunFolder& folder, const RunState& state, const ResumeOptions& options,
                             Session& session) {
  if (!IsDone(folder, state) || !options.overrides.empty()) return {};
  if (const auto remark = RemarkOnEditedSpec(folder); !remark.empty()) session.output.Warn(remark);
  return SayNothingToResume(folder, state, session);
}

/// Another `resume` may have had the lock that this one has waited for.
void RequireNotResumedSince(const RunFolder& folder, const RunState& before, const RunState& now) {
  if (!WasTakenUp(before, now)) return;
  throw Error(ErrorKind::kBusy,
              fmt::format("another process has resumed run {} meanwhile: it is {} after attempt {}", folder.id(),
                          PhaseName(now.phase), now.attempt),
              fmt::format("see how it ended with slipway status {0}; to run it once more: slipway resume {0}",
                          folder.selector()));
}

/// The words that `resume` would start, as far as they can be read.
std::string CommandIn(const RunFolder& folder) try {
  const auto& train = StoredSpec(folder).spec.train;
  return train.program.empty() ? QuoteForShell(train.command) : train.program;
} catch (const Error&) {
  return "its command";
}

/// What a run's documents say is executed as the user.
void RequireOwn(const RunFolder& folder) {
  for (const auto& path : {folder.path(), folder.plan_file(), folder.trial_book()}) {
    const auto why = Exists(path) ? WhyNotOwn(path) : std::string();
    if (why.empty()) continue;
    throw Error(ErrorKind::kEnvironment,
                fmt::format("run {} may run a foreign program as {}: of '{}', {}; it runs {}", folder.id(),
                            UserName(::geteuid()), path.string(), why, CommandIn(folder)),
                fmt::format("read '{}', and to run it all the same: slipway resume {} --trust",
                            folder.plan_file().string(), folder.selector()));
  }
}

void SayHowItGoesOn(const RunFolder& folder, const Plan& plan, Session& session) {
  for (const auto& warning : plan.document.warnings) session.output.Say(RenderDiagnostic(warning, "warning"));
  session.output.Say("resuming " + folder.id());
  if (const auto remark = RemarkOnEditedSpec(folder); !remark.empty()) session.output.Warn(remark);
  for (const auto& change : plan.document.changes) session.output.Say("changed: " + Describe(change));
  if (const auto remark = RemarkOnBits(folder, plan); !remark.empty()) session.output.Warn(remark);
}

/// The report is an extra: without it the run is what it was.
void ReportOn(const RunFolder& folder, const Plan& plan, Session& session) try {
  const bool is_over = HasEnded(folder.ReadState().phase);
  if (plan.spec().report && is_over && !ReadTrialOrder(folder)) WriteReport(folder);
} catch (const std::exception& error) {
  session.output.Warn(fmt::format("{} has no report: {}", folder.id(), error.what()));
}

int ManageAndReport(const RunFolder& folder, FileLock lock, const Plan& plan, LinePrefix prefix, Session& session,
                    GpuLocks gpus) {
  const int code = ManageRun(folder, std::move(lock), plan, session.output, prefix, std::move(gpus));
  ReportOn(folder, plan, session);
  return code;
}

void WaitForEndOfInput() {
  char unused[64];
  while (::read(STDIN_FILENO, unused, sizeof unused) > 0) {
  }
}

}  // namespace

int Run(const RunOptions& options, Session& session) {
  if (IsWorkflowFile(options.selection.spec)) return RunWorkflow(options.selection, options.workflow, session);
  RefuseWorkflowOptions(options.workflow, options.selection);
  const auto plan = PlanFor(options.selection, session);
  const bool submits = NeedsSubmission(plan);
  WarnBeforeSubmission(plan, submits, session);
  std::optional<HeldInterrupts> held;
  const auto folder = MakeRun(held, session, [&] { return PrepareRun(plan); });
  session.output.Say("run " + folder.id());
  if (submits) {
    held.reset();
    session.output.Say(fmt::format("job {}", SubmitNewRun(folder, plan, session.output)));
    return FollowBatchRun(folder, options.prefix, session);
  }
  const int code = ManageRun(folder, folder.TakeManagerLock(), plan, session.output, options.prefix, {});
  held.reset();  // a long report can be interrupted
  ReportOn(folder, plan, session);
  return code;
}

int Submit(const SpecSelection& selection, const WorkflowOptions& workflow, Session& session) {
  if (IsWorkflowFile(selection.spec)) return SubmitWorkflow(selection, workflow, session);
  RefuseWorkflowOptions(workflow, selection);
  const auto plan = PlanFor(selection, session);
  const bool submits = NeedsSubmission(plan);
  WarnBeforeSubmission(plan, submits, session);
  std::optional<HeldInterrupts> held;
  const auto folder = MakeRun(held, session, [&] { return PrepareRun(plan); });
  std::uint32_t job = 0;
  if (submits) {
    held.reset();
    job = SubmitNewRun(folder, plan, session.output);
  } else {
    HandOver(folder);
  }
  SaySubmitted(folder, job, session);
  return 0;
}

int Resume(const ResumeOptions& options, Session& session) {
  auto gpus = TakeGivenGpuLocks();
  const auto folder = FindRun(session, options.run);
  if (!options.trust) RequireOwn(folder);
  if (IsWorkflowRun(folder)) return ResumeWorkflow(folder, options.overrides, options.submit_for, session);
  const auto before = ObserveRun(folder);
  RequireEnd(folder, before);
  if (const auto done = SayIfDone(folder, before, options, session)) return *done;
  std::optional lock = folder.TakeManagerLock(before);
  const auto state = ObserveRun(folder);
  RequireEnd(folder, state);
  if (const auto done = SayIfDone(folder, state, options, session)) return *done;
  RequireNotResumedSince(folder, before, state);
  const auto plan = ReplanRun(folder, options.overrides);
  if (IsDone(folder, state) && plan.document.changes.empty()) return SayNothingToResume(folder, state, session);
  if (state.ensemble && state.phase == Phase::kSucceeded) RequireReadableBook(folder);
  SayHowItGoesOn(folder, plan, session);
  const bool submits = NeedsSubmission(plan);
  KeepChanges(folder, plan);
  if (!submits) {
    ForgetBatchJob(folder);
    return ManageAndReport(folder, std::move(*lock), plan, options.prefix, session, std::move(gpus));
  }
  lock.reset();  // the job may begin at once
  SaySubmitted(folder, SubmitAsJob(folder, plan, session.output), session);
  return 0;
}

int Manage(const ManageOptions& options, Session& session) {
  auto gpus = TakeGivenGpuLocks();
  WaitForEndOfInput();
  const auto folder = RunFolder::Open(options.folder);
  if (IsWorkflowRun(folder)) return ResumeWorkflow(folder, {}, kSubmitFor, session);
  const auto job = OwnBatchJob();
  if (job.id != 0) RequireTurn(folder, job);  // before the lock, which the other job needs
  auto lock = folder.TakeManagerLock();
  if (job.id != 0) {
    if (const auto state = folder.ReadState(); IsDone(folder, state)) return SayNothingToResume(folder, state, session);
    if (CancelledBeforeItsJob(folder)) return OutcomeExitCode(Phase::kCancelled);
  }
  return ManageAndReport(folder, std::move(lock), ReplanRun(folder), LinePrefix::kRank, session, std::move(gpus));
}

}  // namespace slipway::launcher
