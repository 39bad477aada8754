#include "launcher/run/workflow/step_job.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <utility>

#include "core/documents.h"
#include "core/environment.h"
#include "core/error.h"
#include "core/lines.h"
#include "core/process.h"
#include "launcher/run/batch/job_of_run.h"
#include "launcher/run/workflow/ended_steps.h"
#include "launcher/run/workflow/step_execution.h"
#include "launcher/run/workflow/step_news.h"
#include "launcher/run/workflow/step_observation.h"
#include "launcher/run/workflow/step_orphans.h"
#include "launcher/run/workflow/workflow_folder.h"
#include "launcher/run_folder/cancel_request.h"
#include "launcher/workflow/workflow_document.h"

namespace slipway::launcher {
namespace {

using enum StepState;

constexpr auto kPauseForTurn = std::chrono::milliseconds(200);
constexpr auto kPause = std::chrono::seconds(1);

bool EndsWell(StepState state) { return HasResult(state) || state == kSkipped; }

/// The cores that the job was given for its steps.
std::optional<int> CpusOfJob() {
  const auto cpus = ParseNumber<int>(Variable("SLURM_CPUS_PER_TASK"));
  return cpus > 0 ? cpus : std::nullopt;
}

/// A step of the job.
struct Member {
  StepIndex index;
  bool claimed = false;                     ///< false: another job carries it out
  std::optional<FileLock> lock = {};        ///< until its end is written down
  std::optional<StepJournal> journal = {};  ///< nothing: it was over when its lock was taken
  std::optional<StepState> to_mark = {};    ///< its end, in the journal or about to be
  StepRecord last = {};
  bool considered = false;
};

class StepsOfJob {
 public:
  StepsOfJob(const RunFolder& folder, const Workflow& workflow, const std::vector<StepIndex>& steps, Output& output)
      : folder_(folder),
        workflow_(workflow),
        output_(output),
        interrupt_(loop_),
        order_(ReadStoredWorkflow(folder).order) {
    for (const auto step : steps) members_.emplace(step, Member{step});
    job_ = OwnBatchJob();
    job_.comment = JobOfStep(folder, workflow.steps[steps.front()].name).comment;
    interrupt_.OnAsk([this] {
      if (execution_) execution_->StopAll();
    });
    loop_.OnSignals({SIGUSR1}, [this](int signal) {
      if (execution_) execution_->SignalAll(signal);
    });
  }

  int CarryOut() {
    for (Claim(); !IsOver(); Claim()) {
      Proceed();
      Tell(std::exchange(news_, {}));
      if (!IsOver()) loop_.RunOnce(IsAllClaimed() ? kPause : kPauseForTurn);
    }
    Close();
    // After the marks and the journals of this job: of jobs that end at once, the last to look finds all marks.
    auto news = MayBeOver(folder_) ? RecordEndIfOver(folder_) : StepsNews();
    news.failed.insert(news.failed.begin(), news_.failed.begin(), news_.failed.end());
    Tell(news);
    return ExitCode();
  }

 private:
  const std::string& NameOf(StepIndex step) const { return workflow_.steps[step].name; }

  bool IsAllClaimed() const {
    return std::ranges::all_of(members_, [](const auto& entry) { return entry.second.claimed; });
  }

  bool IsOpen(const Member& member) const {
    if (!member.claimed) return !interrupt_.asked();
    if (!member.journal || IsFinal(member.last.state)) return false;
    return !execution_ || !IsFinal(execution_->board().at(member.index));
  }

  bool IsOver() const {
    return std::ranges::none_of(members_, [this](const auto& entry) { return IsOpen(entry.second); });
  }

  /// Takes the steps that no other job carries out.
  void Claim() {
    std::map<std::filesystem::path, StepRecord> begun;
    std::vector<Member*> open;
    for (auto& [step, member] : members_) {
      if (member.claimed || interrupt_.asked()) continue;
      member.lock = LockStep(folder_.path(), NameOf(step));
      member.claimed = member.lock.has_value();
      if (!member.claimed) continue;
      member.last = ReadRecordOfStep(folder_.path(), NameOf(step));
      if (IsFinal(member.last.state)) {
        member.lock.reset();
        continue;
      }
      begun.emplace(StepFolder(folder_, NameOf(step)), member.last);
      open.push_back(&member);
    }
    if (open.empty()) return;
    EndOrphansOf(begun);
    if (folder_.ReadState().started.empty()) RecordStart(folder_);  // without the lock: each job looks
    for (auto* member : open) Open(*member);
  }

  void Open(Member& member) {
    member.journal.emplace(JournalOfStep(folder_.path(), NameOf(member.index)));
    member.last = {};
    if (IsCancelRequested(folder_)) return Note(member, {.state = kCancelled});
    Begin();
    const auto state = execution_->board().at(member.index);
    if (IsFinal(state)) Note(member, {.state = state, .reason = "a step that it needs has no result"});
  }

  void Begin() {
    if (execution_) return;
    before_ = ReadRecordsOf(folder_.path(), NamesBefore());
    const bool is_shared = members_.size() > 1;
    execution_.emplace(ExecutionOrder{folder_, workflow_, order_.forced, before_, is_shared ? JobIdentity() : job_,
                                      is_shared ? CpusOfJob() : std::nullopt, true},
                       loop_, interrupt_, output_,
                       [this](const Step& step, const StepRecord& record) { NoteIfOpen(step, record); });
  }

  void NoteIfOpen(const Step& step, const StepRecord& record) {
    const auto found = members_.find(workflow_.by_name.at(step.name));
    if (found != members_.end() && found->second.journal) Note(found->second, record);
  }

  /// Its own steps and those that they need. Others do not matter to it, and may be thousands.
  std::set<std::string> NamesBefore() const {
    std::set<std::string> names;
    for (const auto& [step, member] : members_) {
      names.insert(NameOf(step));
      for (const auto need : workflow_.needs[step]) names.insert(NameOf(need));
    }
    return names;
  }

  void Proceed() {
    if (!execution_) return;
    for (auto& [step, member] : members_) {
      if (!member.journal || member.considered) continue;
      for (const auto need : workflow_.needs[step]) Know(need);
      if (execution_->board().at(step) != kReady) continue;
      member.considered = true;
      execution_->Consider(step);
    }
    execution_->StartWhatFits();
  }

  /// Tells how a step ended that this job does not carry out, once.
  void Know(StepIndex need) {
    const auto found = members_.find(need);
    const bool is_own = found != members_.end();
    if (is_own && (found->second.journal || !found->second.claimed)) return;
    if (!known_.insert(need).second) return;
    const auto& record = is_own ? found->second.last : before_[NameOf(need)];
    // The job starts when those of its needs are over. One without a record was ended from outside, or by hand.
    execution_->Know(need, IsFinal(record.state) ? record.state : kBlocked, record.result);
  }

  /// What ends a job from outside may also queue it again.
  void Note(Member& member, StepRecord record) {
    member.last = record;
    if (record.state == kCancelled && !IsCancelRequested(folder_)) return;
    record.job = job_.id;
    record.task = job_.task;
    record.host = HostName();
    if (IsFinal(record.state)) member.to_mark = record.state;
    Mark(member);
    member.journal->Write(NameOf(member.index), record);
    if (record.state == kFailed) news_.failed.emplace_back(NameOf(member.index), record.reason);
    // A failed step may be submitted again while others of this job still run.
    if (IsFinal(record.state) && member.journal->Close()) member.lock.reset();
  }

  /// False while the disk is full.
  bool Mark(Member& member) {
    if (member.to_mark && MarkEnd(folder_, NameOf(member.index), *member.to_mark)) member.to_mark.reset();
    return !member.to_mark;
  }

  void Tell(const StepsNews& news) {
    if (!news.empty()) SendNews(folder_, workflow_, news, loop_, interrupt_, output_);
  }

  void Close() {
    for (auto& [step, member] : members_) {
      if (!member.journal) continue;
      if (!IsFinal(member.last.state)) Note(member, {.state = kCancelled});
      while (!(Mark(member) && member.journal->Close()) && !interrupt_.forced()) loop_.RunOnce(kPauseWhileFull);
    }
  }

  int ExitCode() const {
    const auto has = [this](const auto& is_so) {
      return std::ranges::any_of(members_, [&](const auto& entry) { return is_so(entry.second.last.state); });
    };
    if (has([](StepState state) { return state == kFailed || state == kBlocked; })) {
      return static_cast<int>(ErrorKind::kFailed);
    }
    return has([](StepState state) { return !EndsWell(state); }) ? static_cast<int>(ErrorKind::kInterrupted) : 0;
  }

  const RunFolder& folder_;
  const Workflow& workflow_;
  Output& output_;
  EventLoop loop_;
  Interrupt interrupt_;
  WorkflowOrder order_;
  JobIdentity job_;
  std::map<StepIndex, Member> members_;
  std::set<StepIndex> known_;
  std::map<std::string, StepRecord> before_;
  std::optional<StepExecution> execution_;
  StepsNews news_;  ///< that nobody was told yet
};

}  // namespace

int CarryOutStepJob(const RunFolder& folder, const std::vector<std::string>& steps, Output& output) {
  const auto file = folder.path() / kSubmittedSteps;
  const auto workflow = ReadWorkflowDocument(ReadDocument(file), fmt::format("'{}'", file.string()));
  std::vector<StepIndex> indices;
  for (const auto& step : steps) {
    const auto found = workflow.by_name.find(step);
    if (found == workflow.by_name.end()) {
      throw Error(ErrorKind::kUsage, fmt::format("run {} has no step '{}'", folder.id(), step),
                  fmt::format("see its steps: slipway status {}", folder.selector()));
    }
    indices.push_back(found->second);
  }
  return StepsOfJob(folder, workflow, indices, output).CarryOut();
}

std::string StepOfArrayTask(const std::string& group, int first_index) {
  const auto task = OwnBatchJob().task;
  if (task) return fmt::format("{}.{}", group, first_index + static_cast<int>(*task));
  throw Error(ErrorKind::kUsage, "this is no task of a job array: SLURM_ARRAY_TASK_ID is not set",
              "name one step, without --array-task");
}

}  // namespace slipway::launcher
