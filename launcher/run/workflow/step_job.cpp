#include "launcher/run/workflow/step_job.h"

#include <fmt/format.h>
#include <signal.h>

#include "core/documents.h"
#include "core/error.h"
#include "core/process.h"
#include "launcher/plan/batch_plan.h"
#include "launcher/run/batch/job_of_run.h"
#include "launcher/run/workflow/step_batch.h"
#include "launcher/run/workflow/step_execution.h"
#include "launcher/run/workflow/step_observation.h"
#include "launcher/run/workflow/step_orphans.h"
#include "launcher/run/workflow/workflow_folder.h"
#include "launcher/run_folder/cancel_request.h"
#include "launcher/workflow/workflow_document.h"

namespace slipway::launcher {
namespace {

using enum StepState;

constexpr auto kPauseForTurn = std::chrono::milliseconds(200);
int ExitCodeOf(StepState state) {
  if (HasResult(state) || state == kSkipped) return 0;
  return state == kCancelled ? static_cast<int>(ErrorKind::kInterrupted) : static_cast<int>(ErrorKind::kFailed);
}

class JobOfOneStep {
 public:
  JobOfOneStep(const RunFolder& folder, const Workflow& workflow, StepIndex index, Output& output)
      : folder_(folder),
        workflow_(workflow),
        index_(index),
        step_(workflow.steps[index]),
        output_(output),
        interrupt_(loop_),
        order_(ReadStoredWorkflow(folder).order) {}

  int CarryOut() {
    const auto lock = AwaitTurn();
    if (!lock) return ExitCodeOf(kCancelled);
    last_ = ReadRecordOfStep(folder_.path(), step_.name);
    const bool is_new = !IsFinal(last_.state);
    if (is_new) Perform();
    auto news = RecordEndIfOver(folder_);
    if (is_new && last_.state == kFailed) news.failed.emplace_back(step_.name, last_.reason);
    SendNews(folder_, workflow_, news, loop_, interrupt_, output_);
    return ExitCodeOf(last_.state);
  }

 private:
  /// Nothing when this job is ended while another one still carries the step out.
  std::optional<FileLock> AwaitTurn() {
    auto lock = LockStep(folder_.path(), step_.name);
    while (!lock && !interrupt_.asked()) {
      loop_.RunOnce(kPauseForTurn);
      lock = LockStep(folder_.path(), step_.name);
    }
    return lock;
  }

  void Perform() {
    EndOrphansOf(StepFolder(folder_, step_.name), last_);
    journal_.emplace(JournalOfStep(folder_.path(), step_.name));
    last_ = {};
    RecordStart(folder_);
    if (IsCancelRequested(folder_)) return Note({.state = kCancelled});
    before_ = ReadStepJournal(folder_.path());
    StepExecution steps({folder_, workflow_, order_.forced, before_, job_}, loop_, interrupt_, output_,
                        [this](const Step& step, const StepRecord& record) {
                          if (step.name == step_.name) Note(record);
                        });
    interrupt_.OnAsk([&] { steps.StopAll(); });
    loop_.OnSignals({SIGUSR1}, [&](int signal) { steps.SignalAll(signal); });
    for (const auto need : workflow_.needs[index_]) {
      if (IsFinal(steps.board().at(index_))) break;
      Know(need, steps);
    }
    steps.Consider(index_);
    while (!IsFinal(steps.board().at(index_))) {
      steps.StartWhatFits();
      loop_.RunOnce(std::chrono::seconds(1));
    }
    while (!journal_->Flush() && !interrupt_.forced()) loop_.RunOnce(kPauseWhileFull);
  }

  void Know(StepIndex need, StepExecution& steps) {
    const auto& record = before_[workflow_.steps[need].name];
    // Slurm starts the job after those of its needs have succeeded. So a need that is not over was changed by hand.
    steps.Know(need, IsFinal(record.state) ? record.state : kFailed, record.result);
  }

  /// What ends a job from outside may also queue it again.
  void Note(StepRecord record) {
    last_ = record;
    if (record.state == kCancelled && !IsCancelRequested(folder_)) return;
    record.job = job_.id;
    record.host = HostName();
    journal_->Write(step_.name, record);
  }

  JobIdentity OwnJob() const {
    auto job = OwnBatchJob();
    job.comment = CommentOfStep(folder_.path(), step_.name);
    return job;
  }

  const RunFolder& folder_;
  const Workflow& workflow_;
  StepIndex index_;
  const Step& step_;
  Output& output_;
  EventLoop loop_;
  Interrupt interrupt_;
  WorkflowOrder order_;
  JobIdentity job_ = OwnJob();
  std::map<std::string, StepRecord> before_;
  std::optional<StepJournal> journal_;
  StepRecord last_;
};

}  // namespace

int CarryOutStepJob(const RunFolder& folder, const std::string& step, Output& output) {
  const auto file = folder.path() / kSubmittedSteps;
  const auto workflow = ReadWorkflowDocument(ReadDocument(file), fmt::format("'{}'", file.string()));
  const auto found = workflow.by_name.find(step);
  if (found == workflow.by_name.end()) {
    throw Error(ErrorKind::kUsage, fmt::format("run {} has no step '{}'", folder.id(), step),
                fmt::format("see its steps: slipway status {}", folder.id()));
  }
  return JobOfOneStep(folder, workflow, found->second, output).CarryOut();
}

}  // namespace slipway::launcher
