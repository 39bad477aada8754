#include "launcher/run/workflow/workflow_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "core/event_loop.h"
#include "core/interrupt.h"
#include "core/write_probe.h"
#include "launcher/notify/notifier.h"
#include "launcher/run/workflow/step_execution.h"
#include "launcher/run/workflow/step_orphans.h"
#include "launcher/run/workflow/workflow_status.h"
#include "launcher/run_folder/final_state_reserve.h"
#include "launcher/run_folder/manager_elsewhere.h"
#include "launcher/run_folder/pause_note.h"

namespace slipway::launcher {
namespace {

using enum StepState;

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
        before_(ReadStepJournal(folder.path())),
        journal_(JournalOfRun(folder.path())),
        steps_({.folder = folder, .workflow = workflow, .forced = order.forced, .before = before_, .pause = &pause_},
               loop_, interrupt_, output, [this](const Step& step, const StepRecord& record) { Note(step, record); }) {
    if (!workflow.notify.empty()) {
      notifier_.emplace(folder_, NotifyOrder{workflow.name, workflow.directory, workflow.notify}, loop_, output_);
    }
    interrupt_.OnAsk([this] { steps_.StopAll(); });
  }

  int CarryOut() {
    WarnOfProgramsElsewhere();
    EndStepOrphans(folder_, before_, workflow_);
    Begin();
    steps_.TakeUp(before_);
    Advance();
    while (!steps_.board().IsOver()) {
      loop_.RunOnce(std::chrono::seconds(1));
      Advance();
    }
    reserve_.GiveUp();
    while (!journal_.Flush() && !interrupt_.forced()) loop_.RunOnce(kPauseWhileFull);
    return End();
  }

 private:
  /// Nobody here can end what a killed manager has left on another host, or see whether it is gone.
  void WarnOfProgramsElsewhere() const {
    if (!IsOnOtherHost(state_)) return;
    for (const auto& step : workflow_.steps) {
      const auto record = before_.find(step.name);
      if (step.is_run() || record == before_.end() || record->second.state != kRunning) continue;
      output_.Warn(
          fmt::format("step '{}' starts again, and its program of before (process {} on {}) may still run; "
                      "if it does, end it there",
                      step.name, record->second.process.pid, state_.host));
    }
  }

  void Note(const Step& step, const StepRecord& record) {
    journal_.Write(step.name, record);
    if (record.state == kFailed && notifier_) notifier_->StepFailed(step.name, record.reason);
  }

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

  void Advance() {
    steps_.Advance();
    const auto running = steps_.RunningNames();
    if (running.empty()) return;
    output_.Progress(fmt::format("{} of {} steps, running: {}", workflow_.steps.size() - steps_.board().left(),
                                 workflow_.steps.size(), running));
  }

  EndCause CauseOf(Phase phase, int failed) const {
    if (phase == Phase::kCancelled) return cause::Cancelled{};
    return phase == Phase::kFailed ? EndCause(cause::StepsFailed{failed, steps_.first_failure()})
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
      steps_.SayFull(error);
      return false;
    }
    output_.Warn(
        fmt::format("how the workflow ended is not written down: {}; free space there, then: slipway resume {}",
                    error.message(), folder_.selector()));
    return true;
  }

  int End() {
    output_.Progress("");
    const int failed = steps_.board().CountOf(kFailed);
    const auto phase = interrupt_.asked() ? Phase::kCancelled : failed > 0 ? Phase::kFailed : Phase::kSucceeded;
    EndAs(state_, phase, CauseOf(phase, failed));
    state_.ended = FormatUtc(SystemClock().Now());
    WriteEnd();
    if (notifier_) {
      notifier_->RunEnded(state_);
      notifier_->Finish(interrupt_);
    }
    PrintWorkflow(folder_, {state_, ObserveSteps(folder_).records}, output_);
    return OutcomeExitCode(phase);
  }

  const RunFolder& folder_;
  FileLock lock_;
  const Workflow& workflow_;
  Output& output_;
  RunState state_;
  EventLoop loop_;
  Interrupt interrupt_;
  std::map<std::string, StepRecord> before_;
  StepJournal journal_;
  PauseNote pause_{folder_.path()};
  StepExecution steps_;
  std::optional<Notifier> notifier_;
  FinalStateReserve reserve_{folder_.path()};
};

}  // namespace

int ManageWorkflow(const RunFolder& folder, FileLock lock, const Workflow& workflow, const WorkflowOrder& order,
                   Output& output) {
  return WorkflowManager(folder, std::move(lock), workflow, order, output).CarryOut();
}

}  // namespace slipway::launcher
