/// What StepExecution does when the program of a step has ended.
#include <fmt/format.h>
#include <signal.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.h"
#include "core/write_probe.h"
#include "launcher/run/workflow/step_end.h"
#include "launcher/run/workflow/step_execution.h"
#include "launcher/run/workflow/workflow_folder.h"

namespace slipway::launcher {
namespace {

using enum StepState;

constexpr auto kPauseForSignal = std::chrono::milliseconds(500);
/// A program that exits with 0 when it is asked to end takes a while, so the signal is seldom late. Each step pays
/// this.
constexpr auto kPauseAfterSuccess = std::chrono::milliseconds(100);
/// Of processes that wait for a run and are killed one by one, each within kLongWait.
constexpr int kMostKilledWaits = 10;
constexpr auto kLongWait = std::chrono::minutes(1);
/// Between two looks at a run that is to end.
constexpr auto kPauseForRun = std::chrono::milliseconds(200);

}  // namespace

/// Slurm signals all processes of a job: this one may learn later than the program that the job is ended.
void StepExecution::OnEnd(const StepEnd& end) {
  if (!in_job_ || interrupt_.asked()) return Judge(end);
  loop_.After(end.status.Success() ? kPauseAfterSuccess : kPauseForSignal, [this, end] { Judge(end); });
}

/// Whatever it exits with, a program that was asked to end may have written half of its outputs. A run is done only if
/// its own manager says so.
bool StepExecution::IsCutShort(const StepEnd& end) const {
  if (!interrupt_.asked()) return false;
  if (!end.status.Success()) return true;
  return !workflow_.steps[end.step].is_run() && (end.stopped || in_job_);
}

void StepExecution::Judge(const StepEnd& end) {
  const auto& step = workflow_.steps[end.step];
  const auto& active = active_.at(end.step);
  const bool busy = step.is_run() && end.status.code == static_cast<int>(ErrorKind::kBusy);
  if (busy && !interrupt_.asked()) return StartAgain(end.step);
  if (job_.id != 0 && step.is_run() && IsQueued(active.prepared.run_folder)) return Finish(end.step, kCancelled, {});
  if (IsCutShort(end)) return Finish(end.step, kCancelled, {});
  if (!interrupt_.asked() && MayWaitAgain(end)) return WaitAgain(end);
  const auto [why, changed_before] = WhyNotKept(end);
  if (why.empty()) return Publish(end.step);
  const bool was_read_anew = read_anew_.contains(end.step);
  if (!changed_before.empty() && !was_read_anew && !interrupt_.asked()) return ReadAnew(end.step, changed_before);
  if (records_[step.name].attempt <= step.retries + (was_read_anew ? 1 : 0) && !interrupt_.asked()) {
    output_.Say(fmt::format("{}  failed and starts again: {}", step.name, why));
    return StartAgain(end.step);
  }
  Finish(end.step, kFailed, why);
}

/// The process that waited for a run was killed, and the run goes on: the step has not ended.
bool StepExecution::MayWaitAgain(const StepEnd& end) {
  auto& active = active_.at(end.step);
  if (!WaitWasKilled(end, active.prepared) || !GoesOn(end.step)) return false;
  if (SystemClock().Steady() - active.process_began >= kLongWait) active.killed_waits = 0;
  return ++active.killed_waits <= kMostKilledWaits;
}

void StepExecution::WaitAgain(const StepEnd& end) {
  auto& active = active_.at(end.step);
  output_.Say(fmt::format("{}  waits again for run {}: 'slipway wait' was killed by {}", workflow_.steps[end.step].name,
                          active.prepared.run_folder.filename().string(), end.status.Describe()));
  to_wait_again_.insert_or_assign(end.step, KilledWait{std::move(active), end});
  StartAgain(end.step);
}

/// The run has ended before another process could wait for it. The step, which is marked as running, ends as the run.
void StepExecution::EndKilledWait(StepIndex index) {
  auto killed = std::move(to_wait_again_.extract(index).mapped());
  active_.insert_or_assign(index, std::move(killed.active));
  Judge(killed.end);
}

/// A run that goes on has read its inputs before this process has looked at them.
StepExecution::NotKept StepExecution::WhyNotKept(const StepEnd& end) const try {
  const auto& step = workflow_.steps[end.step];
  const auto& active = active_.at(end.step);
  const auto why = WhyFailed(step, EndOfItsRun(end, active.prepared),
                             StepOutcomePlace{PlaceOfStep(folder_, step), active.prepared.run_folder});
  if (!why.empty()) return {why};
  const auto changed = FindChangedInput(step, reuse_.of(end.step).stamps, active.started);
  if (!changed) return {};
  const bool before = changed->before_start && !active.prepared.adopted;
  return {changed->why, before ? changed->name : std::string()};
} catch (const Error& error) {
  return {error.message()};
}

/// The look at its inputs was older than the change, so its key is not that of what the program has read. Once: the
/// clock of a file system may be late, and the program may have changed its input itself. No retry is used up.
void StepExecution::ReadAnew(StepIndex index, const std::string& input) {
  read_anew_.insert(index);
  reuse_.ForgetLooks();
  output_.Say(fmt::format("{}  starts again: input '{}' had changed shortly before it started",
                          workflow_.steps[index].name, input));
  StartAgain(index);
}

void StepExecution::StartAgain(StepIndex index) {
  active_.erase(index);
  board_.Retry(index);
  waiting_.insert(index);
}

StepResult StepExecution::ResultToPublish(StepIndex index) const {
  const auto& step = workflow_.steps[index];
  const auto& active = active_.at(index);
  const auto& decision = reuse_.of(index);
  auto result = ResultOfStep(step, {PlaceOfStep(folder_, step), active.prepared.run_folder});
  result.key = decision.key;
  result.workflow = workflow_.name;
  result.run = folder_.id();
  result.started = FormatUtc(active.started);
  const auto size = SizeOf(step, node_);
  result.cost = {Seconds(SystemClock().Steady() - active.began).count(), size.cpus, size.gpus, size.nodes};
  result.parts = decision.parts;
  return result;
}

/// While the disk is full, the outputs stay where they are.
void StepExecution::Publish(StepIndex index) {
  if (!active_.contains(index)) return;
  const auto& step = workflow_.steps[index];
  const auto& id = reuse_.of(index).id;
  try {
    // A file system may have renamed the folder and reported an error all the same.
    if (!store_.IsOf(folder_.id(), id)) {
      const auto place = PlaceOfStep(folder_, step);
      MakeOwnLinksRelative(place.outputs());
      store_.Publish(place.prepared, id, ResultToPublish(index));
    }
    LinkResult(folder_, step.name, id);
    Finish(index, kDone, {});
  } catch (const SystemError& error) {
    if (!MeansDiskFull(error.code()) || interrupt_.asked()) return Finish(index, kFailed, error.message());
    SayFull(error);
    loop_.After(kPauseWhileFull, [this, index] { Publish(index); });
  } catch (const std::exception& error) {
    Finish(index, kFailed, error.what());
  }
}

void StepExecution::Finish(StepIndex index, StepState state, const std::string& reason) {
  records_[workflow_.steps[index].name].seconds = Seconds(SystemClock().Steady() - active_.at(index).began).count();
  active_.erase(index);
  Settle(index, state, reason);
}

/// Every program is asked to end; the second request ends it at once.
void StepExecution::StopAll() {
  if (interrupt_.forced()) runner_.KillAll();
  for (const auto& [step, active] : active_) runner_.Stop(step);
  for (const auto& [step, killed] : to_wait_again_) StopRunOf(step);
  for (StepIndex step = 0; step < workflow_.steps.size(); ++step) {
    if (board_.at(step) == kReady) Settle(step, kCancelled, {});
  }
  board_.CancelTheRest();
}

/// No process waits for the run. So the step stays until the run has ended: a further request must reach it, too.
void StepExecution::StopRunOf(StepIndex index) {
  const auto run = to_wait_again_.at(index).active.prepared.run_folder;
  const bool is_told = SignalRun(run, interrupt_.forced() ? SIGKILL : SIGTERM);
  if (!is_told || board_.at(index) != kReady) return;
  waiting_.erase(index);
  board_.Start(index);
  loop_.After(kGraceOfRun, [this, index, run] {
    if (to_wait_again_.contains(index)) SignalRun(run, SIGKILL);
  });
  AwaitEndOfRun(index);
}

void StepExecution::AwaitEndOfRun(StepIndex index) {
  loop_.After(kPauseForRun, [this, index] { GoesOn(index) ? AwaitEndOfRun(index) : EndKilledWait(index); });
}

}  // namespace slipway::launcher
