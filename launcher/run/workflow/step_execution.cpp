#include "launcher/run/workflow/step_execution.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.h"
#include "core/shell.h"
#include "core/text.h"
#include "core/write_probe.h"
#include "launcher/run/manager_process.h"
#include "launcher/run/workflow/step_end.h"
#include "launcher/run/workflow/step_orphans.h"
#include "launcher/run/workflow/workflow_folder.h"
#include "launcher/run/workflow/workflow_status.h"
#include "launcher/run_folder/pause_note.h"
#include "launcher/workflow/condition.h"

namespace slipway::launcher {
namespace {

using enum StepState;

constexpr auto kPeriodOfPauseLooks = std::chrono::seconds(1);  // whether the runs of steps stand still

/// Why a step is blocked or skipped that needs this one.
std::string BecauseOf(const Step& need, StepState state) {
  const auto* what = state == kSkipped ? "was skipped" : state == kFailed ? "has failed" : "has no result";
  return fmt::format("step '{}' {}", need.name, what);
}

MachineResources MachineOf(const ExecutionOrder& order) {
  auto machine = ResourcesOfThisMachine();
  machine.cpus = order.cpus.value_or(machine.cpus);
  return machine;
}

NodeSize SizeOf(const MachineResources& machine) { return {machine.cpus, machine.memory, machine.devices.count()}; }

/// Nothing where a job was made for the step: nothing else is there that would take something from it. GPUs that no
/// step asks for are left alone: all steps see them.
MachineResources SharedBySteps(const ExecutionOrder& order) {
  if (order.job.id != 0) return {};
  auto machine = MachineOf(order);
  if (!AsksForGpus(order.workflow)) machine.devices = {};
  return machine;
}

}  // namespace

StepExecution::StepExecution(const ExecutionOrder& order, EventLoop& loop, Interrupt& interrupt, Output& output,
                             Note note)
    : folder_(order.folder),
      workflow_(order.workflow),
      job_(order.job),
      in_job_(order.in_job),
      pause_(order.pause),
      loop_(loop),
      interrupt_(interrupt),
      output_(output),
      note_(std::move(note)),
      store_(folder_.path().parent_path()),
      before_(order.before),
      made_(ResultsMade(order.before)),
      reuse_(workflow_, store_, order.forced, made_),
      board_(workflow_),
      node_(SizeOf(MachineOf(order))),
      runner_(loop, SharedBySteps(order)) {
  runner_.on_end = [this](const StepEnd& end) { OnEnd(end); };
  store_.HoldFor(folder_.id());
  RenewLater();
  LookAtPausesLater();
}

void StepExecution::RenewLater() {
  loop_.After(kLeaseRenewal, [this] {
    store_.RenewLease();
    RenewLater();
  });
}

void StepExecution::LookAtPausesLater() {
  loop_.After(kPeriodOfPauseLooks, [this] {
    for (auto& [index, active] : active_) LookAtPause(index, active);
    LookAtPausesLater();
  });
}

/// Says that the run of a step begins to stand still, and that it goes on.
void StepExecution::LookAtPause(StepIndex index, ActiveStep& active) try {
  const auto& run = active.prepared.run_folder;
  const auto pause = run.empty() ? std::nullopt : PauseOfStepRun(run);
  if (pause.has_value() == active.is_paused) return;
  active.is_paused = pause.has_value();
  const auto& name = workflow_.steps[index].name;
  if (pause) {
    output_.Warn(fmt::format("step '{}': {}", name, Describe(*pause)));
  } else {
    output_.Say(fmt::format("{}  goes on", name));
  }
} catch (const Error&) {  // its state is damaged, which the end of the step tells
}

void StepExecution::Know(StepIndex step, StepState state, const std::string& result) {
  if (!result.empty()) {
    store_.Keep(result);
    reuse_.Know(step, result);
  }
  if (IsFinal(board_.at(step))) return;  // skipped, or blocked, because of another one
  for (const auto other : board_.Settle(step, state)) {
    NoteState(other, board_.at(other), BecauseOf(workflow_.steps[step], state));
  }
}

/// Nothing of a job that was made for the step: it has all of it.
StepResources StepExecution::NeedsHere(const Step& step) const {
  return job_.id != 0 ? StepResources() : NeedsOf(step, node_);
}

void StepExecution::ConsiderReady() {
  for (auto ready = board_.TakeReady(); !ready.empty(); ready = board_.TakeReady()) {
    for (const auto step : ready) Consider(step);
  }
}

/// Decides on steps that have become ready, and starts what fits.
void StepExecution::Advance() {
  ConsiderReady();
  StartWhatFits();
}

void StepExecution::TakeUp(const std::map<std::string, StepRecord>& before) {
  ConsiderReady();
  for (StepIndex step = 0; step < workflow_.steps.size(); ++step) {
    if (!workflow_.steps[step].is_run()) continue;
    const auto record = before.find(workflow_.steps[step].name);
    TakeUp(step, record == before.end() ? StepRecord() : record->second);
  }
}

/// What goes on holds its resources: nothing else gets them first.
void StepExecution::TakeUp(StepIndex index, const StepRecord& before) try {
  const auto place = PlaceOfStep(folder_, workflow_.steps[index]);
  const auto begun = waiting_.contains(index) ? BegunRun(place, reuse_.of(index).key) : std::nullopt;
  if (!begun) {
    for (const auto& run : EndRunsOf(place.folder, before)) SignalRun(run.path(), SIGTERM);  // warns: it is elsewhere
  } else if (StillRuns(RunFolder::Open(*begun))) {
    waiting_.erase(index);
    Start(index, {});
  }
} catch (const Error& error) {
  output_.Warn(fmt::format("what was left of step '{}': {}", workflow_.steps[index].name, error.message()));
}

/// Of a run that goes on under its own manager.
bool StepExecution::SignalRun(const std::filesystem::path& run_folder, int signal) try {
  SignalManager(RunFolder::Open(run_folder).ReadState(), signal);
  return true;
} catch (const Error& error) {
  output_.Warn(fmt::format("{}: it goes on; end it there: {}", error.message(),
                           QuoteForShell({"slipway", "cancel", run_folder.string()})));
  return false;
}

void StepExecution::Consider(StepIndex index) {
  if (board_.at(index) != kReady) return;
  if (interrupt_.asked()) return Settle(index, kCancelled, {});
  try {
    if (const auto why = WhySkipped(workflow_.steps[index]); !why.empty()) return Settle(index, kSkipped, why);
    if (reuse_.Decide(index).reuse) return SettleWithResult(index);
    waiting_.insert(index);
  } catch (const SystemError& error) {
    if (!MeansDiskFull(error.code())) return Settle(index, kFailed, error.message());
    SayFull(error);
    loop_.After(kPauseWhileFull, [this, index] { Consider(index); });
  } catch (const Error& error) {
    Settle(index, kFailed, error.message());
  }
}

/// A process that was killed may have published it and not linked it.
void StepExecution::SettleWithResult(StepIndex index) {
  const auto& name = workflow_.steps[index].name;
  const auto& id = reuse_.of(index).id;
  LinkResult(folder_, name, id);
  if (!IsOwn(reuse_.of(index))) return Settle(index, kReused, {});
  auto& record = records_[name];
  const auto found = before_.find(name);
  const auto& before = record.attempt > 0 || found == before_.end() ? record : found->second;
  record = DoneBefore(before, id, store_.Read(id).cost.seconds);
  Settle(index, kDone, {});
}

/// Its files may have changed since its key was made, while it waited or between two attempts: the key describes what
/// its program reads. A run that goes on has read them.
bool StepExecution::HasResultByNow(StepIndex index) {
  const auto& step = workflow_.steps[index];
  const auto begun = step.is_run() ? BegunRun(PlaceOfStep(folder_, step), reuse_.of(index).key) : std::nullopt;
  if (begun && StillRuns(RunFolder::Open(*begun))) return false;
  return reuse_.DecideAgainIfChanged(index) && reuse_.of(index).reuse;
}

/// A process that was killed may have published its result and not said so.
bool StepExecution::IsOwn(const StepDecision& decision) {
  return decision.own || store_.Read(decision.id).run == folder_.id();
}

std::string StepExecution::WhySkipped(const Step& step) {
  if (step.when.empty()) return {};
  const Scope scope{workflow_, [this](StepIndex need) -> const Json& { return ResultOf(need); }, {}, {}};
  const bool holds = ConditionHolds(step.when, [&](const Reference& reference) { return ValueOf(reference, scope); });
  return holds ? "" : fmt::format("its condition is false: {}", step.when);
}

std::string StepExecution::WhyAgain(StepIndex index) const {
  const auto& decision = reuse_.of(index);
  return decision.is_first ? std::string() : decision.why;
}

/// Whether fewer steps of its foreach run than may at a time.
bool StepExecution::HasTurn(const Step& step) const {
  if (!step.parallel) return true;
  const auto running = std::ranges::count_if(
      active_, [&](const auto& active) { return workflow_.steps[active.first].group == step.group; });
  return std::cmp_less(running, *step.parallel);
}

/// Nothing while other runs hold what it needs: the next look tries again.
std::optional<GpuHold> StepExecution::HoldGpus(StepIndex index, const StepResources& needs, GpusLeft& left) {
  const auto& step = workflow_.steps[index];
  const int least = LeastGpusOf(step, needs);
  if (least <= left.count) {
    auto gpus = runner_.HoldGpus(needs.gpus.value_or(0), fmt::format("step {} of run {}", step.name, folder_.id()));
    if (gpus.devices().count() >= least) return gpus;
    left.count = gpus.devices().count();
    left.others = gpus.others();
  }
  NoteWait(index, fmt::format("waits for {}: {}", Counted(least, "GPU"), left.others), left);
  return {};
}

/// Once, when the step begins to wait: each look may find other holders, for a thousand steps.
void StepExecution::NoteWait(StepIndex index, const std::string& why, GpusLeft& left) {
  if (records_[workflow_.steps[index].name].state == kReady) return;
  NoteState(index, kReady, why);
  left.began_to_wait[left.others].push_back(index);
}

/// One line for all that wait for the same holders.
void StepExecution::AnnounceWaits(const GpusLeft& left) {
  for (const auto& [others, steps] : left.began_to_wait) {
    if (steps.size() == 1) {
      Announce(steps.front());
    } else {
      output_.Say(fmt::format("{} steps wait for GPUs: {}", steps.size(), others));
    }
  }
}

/// Whether a run that this process has begun, or waited for, goes on without it: who waited for the run was killed, or
/// another manages it. It has its GPUs. What an earlier manager has begun is TakeUp's.
bool StepExecution::GoesOn(StepIndex index) try {
  const auto& step = workflow_.steps[index];
  if (!step.is_run() || job_.id != 0 || records_[step.name].attempt == 0) return false;
  const auto begun = BegunRun(PlaceOfStep(folder_, step), reuse_.of(index).key);
  return begun && StillRuns(RunFolder::Open(*begun));
} catch (const Error&) {
  return false;  // the start says why
}

/// What goes on holds its resources: it needs no others, and comes before the steps that wait for some. A run whose
/// wait was killed may have ended since: its step needs none either.
void StepExecution::WaitForWhatGoesOn() {
  std::vector<StepIndex> going_on;
  std::ranges::copy_if(waiting_, std::back_inserter(going_on),
                       [this](StepIndex index) { return to_wait_again_.contains(index) || GoesOn(index); });
  for (const auto index : going_on) {
    waiting_.erase(index);
    Start(index, {});
  }
}

void StepExecution::StartWhatFits() {
  if (interrupt_.asked()) return;
  WaitForWhatGoesOn();
  GpusLeft left;
  for (auto step = waiting_.begin(); step != waiting_.end() && !interrupt_.asked();) {
    const auto index = *step;
    const auto needs = NeedsHere(workflow_.steps[index]);
    if (const auto why = runner_.WhyNever(needs); !why.empty()) {
      step = waiting_.erase(step);
      Settle(index, kFailed, why);
    } else if (!HasTurn(workflow_.steps[index])) {
      ++step;
    } else if (runner_.Fits(needs)) {
      auto gpus = HoldGpus(index, needs, left);
      step = gpus ? waiting_.erase(step) : std::next(step);
      if (gpus) Start(index, std::move(*gpus));
    } else if (needs.cpus.value_or(1) == 1 && needs.gpus.value_or(0) == 0 && needs.memory.count == 0) {
      break;  // no core is free: nobody needs less
    } else {
      ++step;
    }
  }
  AnnounceWaits(left);
}

/// A step that goes on keeps what was before its first process: only the process is another one.
StepExecution::ActiveStep StepExecution::Begin(StepIndex index) {
  const auto& step = workflow_.steps[index];
  const auto now = SystemClock().Steady();
  const auto found = to_wait_again_.find(index);
  const bool again = found != to_wait_again_.end();
  const int attempt = records_[step.name].attempt + (counted_.contains(index) ? 0 : 1);
  auto prepared =
      PrepareStep({workflow_, index, folder_, reuse_.of(index).key, attempt,
                   [this](StepIndex need) -> const Json& { return ResultOf(need); }, NeedsHere(step), job_, again});
  if (!again) {
    return {std::move(prepared), now, SystemClock().Now(), now};
  }
  auto active = found->second.active;
  active.prepared = std::move(prepared);
  active.process_began = now;
  auto& limit = active.prepared.launch.time_limit;
  if (limit) limit = std::max(*limit - Seconds(now - active.began), Seconds(0));
  return active;
}

void StepExecution::Start(StepIndex index, GpuHold gpus) {
  const auto& step = workflow_.steps[index];
  auto& record = records_[step.name];
  const bool again = to_wait_again_.contains(index);
  board_.Start(index);
  try {
    if (!again && HasResultByNow(index)) return SettleWithResult(index);
    if (!again) RequireInputs(index);
    auto active = Begin(index);
    if (again && !active.prepared.adopted) return EndKilledWait(index);
    if (active.prepared.adopted) {
      const auto& run = active.prepared.run_folder;
      active.prepared.launch.signal_manager = [this, run](int signal) { return SignalRun(run, signal); };
      gpus = {};  // the run has its own
      if (!again) output_.Say(fmt::format("{}  goes on in run {}", step.name, run.filename().string()));
    } else if (active.prepared.launch.resources.gpus.value_or(0) > 0 && gpus.devices().count() == 0) {
      return StartAgain(index);  // its run went on, and has ended just now
    }
    if (!again && counted_.insert(index).second) ++record.attempt;
    record.process = {};
    NoteState(index, kRunning, WhyAgain(index));  // before the start, so that no program is unknown
    record.process = runner_.Start(active.prepared.launch, std::move(gpus));
    NoteState(index, kRunning, WhyAgain(index));
    active_.emplace(index, std::move(active));
    counted_.erase(index);
    to_wait_again_.erase(index);
  } catch (const SystemError& error) {
    if (MeansDiskFull(error.code())) return AwaitSpace(index, error);
    Settle(index, kFailed, error.message());
  } catch (const Error& error) {
    Settle(index, kFailed, error.what());
  }
}

/// A step of this or another run may have deleted what was there.
void StepExecution::RequireInputs(StepIndex index) {
  for (const auto need : workflow_.needs[index]) {
    const auto why = store_.WhyDamaged(reuse_.of(need).id);
    if (why.empty()) continue;
    throw Error(ErrorKind::kFailed, fmt::format("it cannot start: {}", why),
                fmt::format("slipway resume {} makes it again", folder_.selector()));
  }
}

/// Nothing has started: it is tried again while the disk is full.
void StepExecution::AwaitSpace(StepIndex index, const Error& error) {
  SayFull(error);
  board_.Retry(index);
  loop_.After(kPauseWhileFull, [this, index] {
    if (board_.at(index) == kReady) waiting_.insert(index);
  });
}

void StepExecution::SayFull(const Error& error) {
  if (std::exchange(said_full_, true)) return;
  if (pause_ != nullptr) pause_->Set({ensemble::PauseCause::kDiskFull, error.message()});
  output_.Warn(fmt::format("paused: {}: the workflow waits for free space there; Ctrl-C ends it", error.message()));
}

void StepExecution::GoOn() {
  if (!std::exchange(said_full_, false)) return;
  if (pause_ != nullptr) pause_->Clear();
}

void StepExecution::Settle(StepIndex index, StepState state, const std::string& reason) {
  if (!interrupt_.asked()) GoOn();
  if (state == kFailed && first_failure_.empty()) first_failure_ = workflow_.steps[index].name;
  waiting_.erase(index);
  to_wait_again_.erase(index);
  const auto others = board_.Settle(index, state);
  NoteState(index, state, reason);
  Announce(index);
  for (const auto other : others) {
    NoteState(other, board_.at(other), BecauseOf(workflow_.steps[index], state));
  }
}

void StepExecution::NoteState(StepIndex index, StepState state, const std::string& reason) {
  auto& record = records_[workflow_.steps[index].name];
  record.state = state;
  record.reason = reason;
  if (HasResult(state)) record.result = reuse_.of(index).id;
  note_(workflow_.steps[index], record);
}

void StepExecution::Announce(StepIndex index) {
  const auto state = board_.at(index);
  if (state == kReused || state == kCancelled) return;
  const auto& step = workflow_.steps[index];
  const auto& record = records_[step.name];
  auto line = fmt::format("{}  {}", step.name, WordOf(state));
  if (record.seconds > 0) line += fmt::format(" in {}", FormatDuration(Seconds(record.seconds)));
  if (!record.reason.empty()) line += ": " + record.reason;
  output_.Say(line);
}

std::string StepExecution::RunningNames() const {
  std::string names;
  for (const auto& [step, active] : active_) {
    if (names.size() > 60) break;
    names += (names.empty() ? "" : ", ") + workflow_.steps[step].name;
  }
  return names;
}

}  // namespace slipway::launcher
