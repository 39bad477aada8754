#include "launcher/run/workflow/workflow_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <deque>
#include <nlohmann/json.hpp>
#include <set>

#include "core/clock.h"
#include "core/error.h"
#include "core/event_loop.h"
#include "core/interrupt.h"
#include "core/write_probe.h"
#include "launcher/notify/notifier.h"
#include "launcher/run/manager_process.h"
#include "launcher/run/workflow/local_step_runner.h"
#include "launcher/run/workflow/step_end.h"
#include "launcher/run/workflow/step_launch.h"
#include "launcher/run/workflow/step_orphans.h"
#include "launcher/run/workflow/step_reuse.h"
#include "launcher/run/workflow/workflow_status.h"
#include "launcher/run_folder/final_state_reserve.h"
#include "launcher/workflow/condition.h"
#include "launcher/workflow/step_board.h"

namespace slipway::launcher {
namespace {

using enum StepState;

constexpr auto kPauseWhileFull = std::chrono::milliseconds(500);

/// A step between its start and its published result.
struct ActiveStep {
  PreparedStep prepared;
  std::string stamps;  ///< of its inputs, before it started
  SteadyTime began;
  std::string started;
};

/// Results that this run has made before.
std::map<std::string, std::string> MadeIn(const std::map<std::string, StepRecord>& records) {
  std::map<std::string, std::string> made;
  for (const auto& [step, record] : records) {
    if (record.state == kDone) made.emplace(step, record.result);
  }
  return made;
}

class WorkflowManager {
 public:
  WorkflowManager(const RunFolder& folder, FileLock lock, const Workflow& workflow, const WorkflowOrder& order,
                  Output& output)
      : folder_(folder),
        lock_(std::move(lock)),
        workflow_(workflow),
        output_(output),
        state_(folder.ReadState()),
        interrupt_(loop_),
        store_(folder.path().parent_path()),
        records_(ReadStepJournal(folder.path())),
        made_(MadeIn(records_)),
        reuse_(workflow, store_, order.forced, made_),
        journal_(folder.path()),
        board_(workflow),
        runner_(loop_, ResourcesOfThisMachine()) {
    if (!workflow.notify.empty()) {
      notifier_.emplace(folder_, NotifyOrder{workflow.name, workflow.directory, workflow.notify}, loop_, output_);
    }
    runner_.on_end = [this](const StepEnd& end) { OnEnd(end); };
    interrupt_.OnAsk([this] { StopAll(); });
  }

  int CarryOut() {
    EndStepOrphans(folder_.path(), records_);
    records_.clear();
    store_.HoldFor(folder_.id());
    RenewLater();
    Begin();
    Advance();
    while (!board_.IsOver()) {
      loop_.RunOnce(std::chrono::seconds(1));
      Advance();
    }
    reserve_.GiveUp();
    while (!journal_.Flush() && !interrupt_.forced()) loop_.RunOnce(kPauseWhileFull);
    return End();
  }

 private:
  void Begin() {
    journal_.Begin();
    state_.host = HostName();
    state_.manager = IdentityOf(::getpid());
    state_.started = FormatUtc(SystemClock().Now());
    ForgetEnd(state_);
    state_.phase = Phase::kRunning;
    ++state_.attempt;
    folder_.WriteState(state_);
    folder_.AppendEvent("running", Json{{"attempt", state_.attempt}});
  }

  void RenewLater() {
    loop_.After(kLeaseRenewal, [this] {
      store_.RenewLease();
      RenewLater();
    });
  }

  /// Decides on steps that have become ready, and starts what fits.
  void Advance() {
    for (auto ready = board_.TakeReady(); !ready.empty(); ready = board_.TakeReady()) {
      for (const auto step : ready) Consider(step);
    }
    StartWhatFits();
    if (!active_.empty()) ShowProgress();
  }

  void Consider(StepIndex index) {
    if (board_.at(index) != kReady) return;
    if (interrupt_.asked()) return Settle(index, kCancelled, {});
    try {
      if (const auto why = WhySkipped(workflow_.steps[index]); !why.empty()) return Settle(index, kSkipped, why);
      const auto& decision = reuse_.Decide(index);
      if (decision.reuse) return Settle(index, decision.own ? kDone : kReused, {});
      waiting_.insert(index);
    } catch (const SystemError& error) {
      if (!MeansDiskFull(error.code())) return Settle(index, kFailed, error.message());
      SayFull(error);
      loop_.After(kPauseWhileFull, [this, index] { Consider(index); });
    } catch (const Error& error) {
      Settle(index, kFailed, error.message());
    }
  }

  std::string WhySkipped(const Step& step) {
    if (step.when.empty()) return {};
    const Scope scope{workflow_, [this](StepIndex need) -> const Json& { return ResultOf(need); }, {}, {}};
    const bool holds = ConditionHolds(step.when, [&](const Reference& reference) { return ValueOf(reference, scope); });
    return holds ? "" : fmt::format("its condition is false: {}", step.when);
  }

  const Json& ResultOf(StepIndex step) { return store_.ValuesOf(reuse_.of(step).id); }

  void StartWhatFits() {
    for (auto step = waiting_.begin(); step != waiting_.end() && !interrupt_.asked();) {
      const auto index = *step;
      const auto needs = NeedsOf(workflow_.steps[index]);
      if (const auto why = runner_.WhyNever(needs); !why.empty()) {
        step = waiting_.erase(step);
        Settle(index, kFailed, why);
      } else if (runner_.Fits(needs)) {
        step = waiting_.erase(step);
        Start(index);
      } else if (needs.cpus.value_or(1) == 1 && needs.gpus.value_or(0) == 0 && needs.memory.count == 0) {
        break;  // no core is free: nobody needs less
      } else {
        ++step;
      }
    }
  }

  void Start(StepIndex index) {
    const auto& step = workflow_.steps[index];
    auto& record = records_[step.name];
    board_.Start(index);
    try {
      RequireInputs(index);
      ActiveStep active{PrepareStep({workflow_, index, folder_, reuse_.of(index).key, record.attempt + 1,
                                     [this](StepIndex need) -> const Json& { return ResultOf(need); }}),
                        StampsOfInputs(step), SystemClock().Steady(), FormatUtc(SystemClock().Now())};
      ++record.attempt;
      record.process = {};
      Note(index, kRunning, reuse_.of(index).why);  // before the start, so that no program is unknown
      record.process = runner_.Start(active.prepared.launch);
      Note(index, kRunning, reuse_.of(index).why);
      active_.emplace(index, std::move(active));
    } catch (const SystemError& error) {
      if (MeansDiskFull(error.code())) return AwaitSpace(index, error);
      Settle(index, kFailed, error.message());
    } catch (const Error& error) {
      Settle(index, kFailed, error.what());
    }
  }

  /// A step of this or another run may have deleted what was there.
  void RequireInputs(StepIndex index) {
    for (const auto need : workflow_.needs[index]) {
      const auto why = store_.WhyDamaged(reuse_.of(need).id);
      if (why.empty()) continue;
      throw Error(ErrorKind::kFailed, fmt::format("it cannot start: {}", why),
                  fmt::format("slipway resume {} makes it again", folder_.id()));
    }
  }

  /// Nothing has started: it is tried again while the disk is full.
  void AwaitSpace(StepIndex index, const Error& error) {
    SayFull(error);
    board_.Retry(index);
    loop_.After(kPauseWhileFull, [this, index] {
      if (board_.at(index) == kReady) waiting_.insert(index);
    });
  }

  void SayFull(const Error& error) {
    if (std::exchange(said_full_, true)) return;
    output_.Warn(fmt::format("paused: {}: the workflow waits for free space there; Ctrl-C ends it", error.message()));
  }

  void OnEnd(const StepEnd& end) {
    const auto& step = workflow_.steps[end.step];
    const auto& active = active_.at(end.step);
    const bool busy = step.is_run() && end.status.code == static_cast<int>(ErrorKind::kBusy);
    if (busy && !interrupt_.asked()) return StartAgain(end.step);
    if (interrupt_.asked() && !end.status.Success()) return Finish(end.step, kCancelled, {});
    auto why = WhyFailed(step, end, StepOutcomePlace{PlaceOfStep(folder_, step), active.prepared.run_folder});
    if (why.empty() && StampsOfInputs(step) != active.stamps)
      why = "an input changed while it ran; its result is not kept";
    if (why.empty()) return Publish(end.step);
    if (records_[step.name].attempt <= step.retries && !interrupt_.asked()) {
      output_.Say(fmt::format("{}  failed and starts again: {}", step.name, why));
      return StartAgain(end.step);
    }
    Finish(end.step, kFailed, why);
  }

  void StartAgain(StepIndex index) {
    active_.erase(index);
    board_.Retry(index);
    waiting_.insert(index);
  }

  /// While the disk is full, the outputs stay where they are.
  void Publish(StepIndex index) {
    if (!active_.contains(index)) return;
    const auto& step = workflow_.steps[index];
    const auto& active = active_.at(index);
    const auto& decision = reuse_.of(index);
    try {
      auto result = ResultOfStep(step, {PlaceOfStep(folder_, step), active.prepared.run_folder});
      result.key = decision.key;
      result.workflow = workflow_.name;
      result.run = folder_.id();
      result.started = active.started;
      const auto& took = active.prepared.launch.resources;
      result.cost = {Seconds(SystemClock().Steady() - active.began).count(), took.cpus.value_or(1),
                     took.gpus.value_or(0)};
      result.parts = decision.parts;
      store_.Publish(PlaceOfStep(folder_, step).prepared, decision.id, std::move(result));
      LinkResult(step, decision.id);
      Finish(index, kDone, {});
    } catch (const SystemError& error) {
      if (!MeansDiskFull(error.code()) || interrupt_.asked()) return Finish(index, kFailed, error.message());
      SayFull(error);
      loop_.After(kPauseWhileFull, [this, index] { Publish(index); });
    } catch (const std::exception& error) {
      Finish(index, kFailed, error.what());
    }
  }

  /// For people: where the files of the step are.
  void LinkResult(const Step& step, const std::string& id) const {
    const auto link = StepFolder(folder_, step.name) / "result";
    std::error_code error;
    std::filesystem::remove(link, error);
    std::filesystem::create_symlink(std::filesystem::path("../../../.results") / id, link, error);
  }

  void Finish(StepIndex index, StepState state, const std::string& reason) {
    records_[workflow_.steps[index].name].seconds = Seconds(SystemClock().Steady() - active_.at(index).began).count();
    active_.erase(index);
    Settle(index, state, reason);
  }

  void Settle(StepIndex index, StepState state, const std::string& reason) {
    if (state == kFailed && notifier_) notifier_->StepFailed(workflow_.steps[index].name, reason);
    if (!interrupt_.asked()) said_full_ = false;
    if (state == kFailed && first_failure_.empty()) first_failure_ = workflow_.steps[index].name;
    waiting_.erase(index);
    const auto others = board_.Settle(index, state);
    Note(index, state, reason);
    Announce(index);
    for (const auto other : others) {
      Note(other, board_.at(other),
           fmt::format("step '{}' {}", workflow_.steps[index].name, state == kSkipped ? "was skipped" : "has failed"));
    }
  }

  void Note(StepIndex index, StepState state, const std::string& reason) {
    auto& record = records_[workflow_.steps[index].name];
    record.state = state;
    record.reason = reason;
    if (HasResult(state)) record.result = reuse_.of(index).id;
    journal_.Write(workflow_.steps[index].name, record);
  }

  void Announce(StepIndex index) {
    const auto state = board_.at(index);
    if (state == kReused || state == kCancelled) return;
    const auto& step = workflow_.steps[index];
    const auto& record = records_[step.name];
    auto line = fmt::format("{}  {}", step.name, WordOf(state));
    if (record.seconds > 0) line += fmt::format(" in {}", FormatDuration(Seconds(record.seconds)));
    if (!record.reason.empty()) line += ": " + record.reason;
    output_.Say(line);
  }

  void ShowProgress() {
    std::string names;
    for (const auto& [step, active] : active_) {
      if (names.size() > 60) break;
      names += (names.empty() ? "" : ", ") + workflow_.steps[step].name;
    }
    output_.Progress(fmt::format("{} of {} steps, running: {}", workflow_.steps.size() - board_.left(),
                                 workflow_.steps.size(), names));
  }

  /// Every program is asked to end; the second request ends it at once.
  void StopAll() {
    if (interrupt_.forced()) runner_.KillAll();
    for (const auto& [step, active] : active_) {
      if (active.prepared.adopted) {
        AskToStop(RunFolder::Open(active.prepared.run_folder).ReadState());
      } else {
        runner_.Stop(step);
      }
    }
    for (StepIndex step = 0; step < workflow_.steps.size(); ++step) {
      if (board_.at(step) == kReady) Settle(step, kCancelled, {});
    }
    board_.CancelTheRest();
  }

  EndCause CauseOf(Phase phase, int failed) const {
    if (phase == Phase::kCancelled) return cause::Cancelled{};
    return phase == Phase::kFailed ? EndCause(cause::StepsFailed{failed, first_failure_})
                                   : EndCause(cause::Completed{});
  }

  /// While the disk is full it waits, until the user has asked to end.
  void WriteEnd() {
    while (!TryToWriteEnd()) loop_.RunOnce(kPauseWhileFull);
  }

  bool TryToWriteEnd() try {
    folder_.WriteState(state_);
    folder_.AppendEvent(PhaseName(state_.phase), Json{{"attempt", state_.attempt}, {"reason", state_.reason}});
    return true;
  } catch (const SystemError& error) {
    if (!MeansDiskFull(error.code())) throw;
    if (!interrupt_.asked()) {
      SayFull(error);
      return false;
    }
    output_.Warn(
        fmt::format("how the workflow ended is not written down: {}; free space there, then: slipway resume {}",
                    error.message(), folder_.id()));
    return true;
  }

  int End() {
    output_.Progress("");
    const int failed = board_.CountOf(kFailed);
    const auto phase = interrupt_.asked() ? Phase::kCancelled : failed > 0 ? Phase::kFailed : Phase::kSucceeded;
    EndAs(state_, phase, CauseOf(phase, failed));
    state_.ended = FormatUtc(SystemClock().Now());
    WriteEnd();
    if (notifier_) {
      notifier_->RunEnded(state_);
      notifier_->Finish(interrupt_);
    }
    PrintWorkflow(folder_, state_, output_);
    return OutcomeExitCode(phase);
  }

  const RunFolder& folder_;
  FileLock lock_;
  const Workflow& workflow_;
  Output& output_;
  RunState state_;
  EventLoop loop_;
  Interrupt interrupt_;
  ResultStore store_;
  std::map<std::string, StepRecord> records_;
  std::map<std::string, std::string> made_;
  StepReuse reuse_;
  StepJournal journal_;
  StepBoard board_;
  LocalStepRunner runner_;
  std::optional<Notifier> notifier_;
  FinalStateReserve reserve_{folder_.path()};
  std::set<StepIndex> waiting_;  ///< ready, until something is free for them
  std::map<StepIndex, ActiveStep> active_;
  std::string first_failure_;
  bool said_full_ = false;
};

}  // namespace

int ManageWorkflow(const RunFolder& folder, FileLock lock, const Workflow& workflow, const WorkflowOrder& order,
                   Output& output) {
  return WorkflowManager(folder, std::move(lock), workflow, order, output).CarryOut();
}

}  // namespace slipway::launcher
