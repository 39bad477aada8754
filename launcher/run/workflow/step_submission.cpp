#include "launcher/run/workflow/step_submission.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "core/clock.h"
#include "core/documents.h"
#include "core/error.h"
#include "launcher/run/batch/batch_record.h"
#include "launcher/run/batch/submit_job.h"
#include "launcher/run/workflow/result_store.h"
#include "launcher/run/workflow/step_batch.h"
#include "launcher/run/workflow/step_observation.h"
#include "launcher/run/workflow/step_reuse.h"
#include "launcher/run_folder/cancel_request.h"
#include "launcher/workflow/condition.h"
#include "launcher/workflow/resolve.h"
#include "launcher/workflow/workflow_document.h"

namespace slipway::launcher {
namespace {

using enum StepState;

/// A job ends a moment after its step.
constexpr auto kPatienceWithSlurm = std::chrono::seconds(60);
constexpr auto kPatienceWithProcess = std::chrono::seconds(30);
constexpr auto kPauseForLock = std::chrono::milliseconds(50);

/// What is to end may have ended by itself: Slurm removes jobs whose needs were removed.
void UnlessOver(const std::function<void()>& act) try { act(); } catch (const SlurmError& error) {
  if (error.trouble() != SlurmTrouble::kOver && error.trouble() != SlurmTrouble::kUnknownJob) throw;
}

class StepsSubmission {
 public:
  StepsSubmission(const RunFolder& folder, const Workflow& workflow, const WorkflowOrder& order,
                  const Patience& patience)
      : folder_(folder),
        workflow_(workflow),
        store_(folder.path().parent_path()),
        records_(ReadStepJournal(folder.path())),
        made_(ResultsMade(records_)),
        reuse_(workflow, store_, order.forced, made_),
        board_(workflow),
        jobs_(workflow.steps.size()),
        room_(patience) {}

  SubmittedSteps Submit() {
    const bool is_new = !HasStepJobs(folder_);
    WithdrawCancelRequest(folder_);
    WriteFileDurably(folder_.path() / kSubmittedSteps, WriteWorkflowDocument(workflow_).dump() + "\n", kPlanMode);
    if (!is_new) FindJobs();  // first: what has ended by now has left its result
    SettleWhatIsKnown();
    OpenSteps();
    Begin();
    for (const auto step : workflow_.order) {
      if (IsCancelRequested(folder_)) break;
      if (!IsFinal(board_.at(step))) EnsureJobInTime(step);
    }
    return counts_;
  }

 private:
  /// From now on no process of this host is the run's manager.
  void Begin() const {
    const auto lock = LockEnd(folder_);
    auto state = folder_.ReadState();
    state.phase = Phase::kRunning;
    state.host.clear();
    state.manager = {};
    if (HasEnded(folder_.ReadState().phase)) state.started.clear();
    ForgetEnd(state);
    ++state.attempt;
    folder_.WriteState(state);
    folder_.AppendEvent("submitting", Json{{"attempt", state.attempt}});
  }

  /// Before the run is open again: the journals never say that all is over while jobs are to come.
  void OpenSteps() {
    for (const auto step : workflow_.order) {
      if (IsFinal(board_.at(step)) || jobs_[step]) continue;
      MakeDirectories(StepFolder(folder_, NameOf(step)));
      if (!Reopen(step)) TakeOver(step);
    }
  }

  /// What needs no job: the results are there, or a condition is false that only such results decide.
  void SettleWhatIsKnown() {
    for (auto ready = board_.TakeReady(); !ready.empty(); ready = board_.TakeReady()) {
      for (const auto step : ready) Consider(step);
    }
  }

  void Consider(StepIndex index) {
    if (board_.at(index) != kReady) return;
    const auto& step = workflow_.steps[index];
    if (!step.when.empty() && !Holds(step)) {
      return Settle(index, {.state = kSkipped, .reason = fmt::format("its condition is false: {}", step.when)});
    }
    const auto& decision = reuse_.Decide(index);
    if (!decision.reuse) return;
    const bool own = decision.own || store_.Read(decision.id).run == folder_.id();
    Settle(index, {.state = own ? kDone : kReused, .result = decision.id});
  }

  bool Holds(const Step& step) {
    const Scope scope{
        workflow_, [&](StepIndex need) -> const Json& { return store_.ValuesOf(reuse_.of(need).id); }, {}, {}};
    return ConditionHolds(step.when, [&](const Reference& reference) { return ValueOf(reference, scope); });
  }

  void Settle(StepIndex index, const StepRecord& record) {
    Note(index, record);
    for (const auto other : board_.Settle(index, record.state)) {
      Note(other, {.state = board_.at(other), .reason = fmt::format("step '{}' was skipped", NameOf(index))});
    }
  }

  const std::string& NameOf(StepIndex step) const { return workflow_.steps[step].name; }

  /// Who carries a step out holds its lock and writes its journal.
  void Note(StepIndex index, StepRecord record) {
    ++counts_.settled;
    auto& known = records_[NameOf(index)];
    if (known.state == record.state && known.result == record.result) return;
    Write(index, record);
    known = std::move(record);
  }

  void Write(StepIndex index, const StepRecord& record) const {
    MakeDirectories(StepFolder(folder_, NameOf(index)));
    const auto lock = LockStep(folder_.path(), NameOf(index));
    if (!lock) return;  // its job is about to say the same
    const auto now = ReadRecordOfStep(folder_.path(), NameOf(index));
    const bool is_said = now.state == record.state && now.result == record.result;
    if (!is_said) StepJournal(JournalOfStep(folder_.path(), NameOf(index))).Write(NameOf(index), record);
  }

  /// Whether the step is to run: a process of an earlier job that Slurm has lost may bring it to its end meanwhile.
  bool Reopen(StepIndex index) {
    const auto deadline = SystemClock().Steady() + kPatienceWithProcess;
    auto lock = LockStep(folder_.path(), NameOf(index));
    for (; !lock && SystemClock().Steady() < deadline; lock = LockStep(folder_.path(), NameOf(index))) {
      SystemClock().Sleep(kPauseForLock);
    }
    if (!lock) {
      throw Error(ErrorKind::kBusy,
                  fmt::format("step '{}' of run {} is still carried out by a process of an earlier job", NameOf(index),
                              folder_.id()),
                  fmt::format("wait for its end, or end it, and then: slipway resume {}", folder_.id()));
    }
    auto& known = records_[NameOf(index)];
    auto now = ReadRecordOfStep(folder_.path(), NameOf(index));
    const bool has_ended = now != known && IsFinal(now.state) && now.state != kFailed;
    known = std::move(now);
    if (has_ended) return false;
    if (known.state != kWaiting) StepJournal(JournalOfStep(folder_.path(), NameOf(index))).Write(NameOf(index), {});
    return true;
  }

  void TakeOver(StepIndex step) {
    const auto& record = records_.at(NameOf(step));
    if (HasResult(record.state)) reuse_.Know(step, record.result);
    ++counts_.settled;
    board_.Settle(step, record.state);
    SettleWhatIsKnown();
  }

  /// Those that are in the queue or run.
  void FindJobs() {
    std::vector<JobId> numbers;
    for (const auto& step : workflow_.steps) {
      if (const auto job = JobOfStep(folder_, step.name); job.id != 0) numbers.push_back(job.id);
    }
    const auto known = slurm_.Jobs(numbers);
    for (StepIndex step = 0; step < workflow_.steps.size(); ++step) jobs_[step] = LiveJobOf(NameOf(step), known);
  }

  struct Job {
    JobIdentity identity;
    bool waits = true;
    bool is_stuck = false;        ///< what it depends on can never happen: Slurm is about to remove it
    std::string dependency = {};  ///< as Slurm shows it: "afterok:21(unfulfilled),afterok:24(unfulfilled)"
  };

  /// A job that has said how its step ended is over, whatever Slurm still does with it.
  std::optional<Job> LiveJobOf(const std::string& step, const std::vector<SlurmJob>& known) const {
    if (IsFinal(ReadRecordOfStep(folder_.path(), step).state)) return {};
    const auto meant = JobOfStep(folder_, step);
    if (meant.id == 0) {  // an answer was lost, or never written down
      const auto found = FindLiveJob(slurm_, meant.comment, meant.work_dir);
      return found ? std::optional(Job{*found}) : std::nullopt;
    }
    const auto found = std::ranges::find_if(known, [&](const auto& job) { return IsMeant(meant, job); });
    if (found == known.end() || found->phase() == JobPhase::kOver) return {};
    const bool waits = found->phase() == JobPhase::kWaiting;
    const bool is_stuck = found->dependency.find("(failed)") != std::string::npos;
    return Job{meant, waits, is_stuck, found->dependency};
  }

  /// Waits while the site takes no more jobs; needs of the step may end meanwhile.
  void EnsureJobInTime(StepIndex step) {
    do {
      if (room_.has_waited() && IsBlocked(step)) return;
    } while (!TryToEnsureJob(step) && !IsCancelRequested(folder_));
  }

  /// False: there was no room, and may be now.
  bool TryToEnsureJob(StepIndex step) try {
    EnsureJob(step);
    room_.Taken();
    return true;
  } catch (const SubmissionInDoubt&) {
    throw;
  } catch (SlurmError& error) {
    const auto in = counts_.submitted + counts_.kept;
    if (in == 0 || !MayHaveRoomLater(error.trouble())) throw;
    const auto so_far = fmt::format("{} of {} jobs are submitted", in, JobsToBe());
    if (room_.Await(error, so_far, [&] { return IsCancelRequested(folder_); })) return false;
    error.AddContext(so_far);
    throw;
  }

  std::size_t JobsToBe() const { return workflow_.steps.size() - static_cast<std::size_t>(counts_.settled); }

  bool IsBlocked(StepIndex step) {
    for (const auto need : workflow_.needs[step]) {
      const auto state = ReadRecordOfStep(folder_.path(), NameOf(need)).state;
      if (state != kFailed && state != kBlocked && state != kCancelled) continue;
      Note(step, {.state = kBlocked, .reason = fmt::format("step '{}' has failed", NameOf(need))});
      return true;
    }
    return false;
  }

  /// A live job stays when all that it depends on stays, too.
  void EnsureJob(StepIndex step) {
    const auto& needs = workflow_.needs[step];
    const bool anew = std::ranges::any_of(needs, [&](StepIndex need) { return submitted_.contains(need); });
    const auto& job = jobs_[step];
    if (job && (!job->waits || !(anew || job->is_stuck || WaitsForGhost(step, *job)))) {
      ++counts_.kept;
      return Keep(step, job->identity);
    }
    if (job) UnlessOver([&] { slurm_.Cancel(job->identity); });
    Submit(step);
  }

  /// Whether it waits for the job of a step that has said its end a while ago. A controller that was killed may not
  /// know that a job has ended; it may take it a long time to notice.
  bool WaitsForGhost(StepIndex step, const Job& job) const {
    return std::ranges::any_of(workflow_.needs[step], [&](StepIndex need) {
      const auto id = JobOfStep(folder_, NameOf(need)).id;
      const bool depends = id != 0 && job.dependency.find(fmt::format(":{}(", id)) != std::string::npos;
      return depends && IsFinal(board_.at(need)) && HasSaidItsEndLongAgo(NameOf(need));
    });
  }

  bool HasSaidItsEndLongAgo(const std::string& step) const {
    std::error_code error;
    const auto said = std::filesystem::last_write_time(JournalOfStep(folder_.path(), step), error);
    return !error && std::filesystem::file_time_type::clock::now() - said > kPatienceWithSlurm;
  }

  void Keep(StepIndex step, const JobIdentity& job) const {
    if (JobOfStep(folder_, NameOf(step)).id == job.id) return;
    WriteBatchRecord(StepFolder(folder_, NameOf(step)), {job, false, {}, {}});
  }

  void Submit(StepIndex step) {
    const auto step_folder = StepFolder(folder_, NameOf(step));
    RemoveBatchRecord(step_folder);
    const auto job = MakeStepJob(workflow_, step, folder_.path(), DependencyOf(step));
    WriteScript(job);
    const auto identity = SubmitJob(slurm_, job);
    WriteBatchRecord(step_folder, {identity, false, {}, {}});
    folder_.AppendEvent("submitted", Json{{"step", NameOf(step)}, {"job", identity.id}, {"cluster", identity.cluster}});
    jobs_[step] = Job{identity};
    submitted_.insert(step);
    ++counts_.submitted;
  }

  std::string DependencyOf(StepIndex step) const {
    std::string numbers;
    for (const auto need : workflow_.needs[step]) {
      if (!jobs_[need]) continue;
      if (room_.has_waited() && IsFinal(ReadRecordOfStep(folder_.path(), NameOf(need)).state)) continue;
      numbers += fmt::format(":{}", jobs_[need]->identity.id);
    }
    return numbers.empty() ? "" : "afterok" + numbers;
  }

  const RunFolder& folder_;
  const Workflow& workflow_;
  SlurmClient slurm_;
  ResultStore store_;
  std::map<std::string, StepRecord> records_;
  std::map<std::string, std::string> made_;
  StepReuse reuse_;
  StepBoard board_;
  std::vector<std::optional<Job>> jobs_;
  JobRoom room_;
  std::set<StepIndex> submitted_;  ///< by this call
  SubmittedSteps counts_;
};

}  // namespace

void RequireStepJobs(const Workflow& workflow, const std::filesystem::path& runs_directory) {
  const SlurmClient slurm;
  const auto planned = runs_directory / (workflow.name + "-<time>-<id>");
  const auto limits = PartitionLimitsOf(slurm);
  for (StepIndex step = 0; step < workflow.steps.size(); ++step) {
    const auto job = MakeStepJob(workflow, step, planned, {});
    WithContext(fmt::format("in step '{}'", workflow.steps[step].name), [&] { RequireAPartition(job, limits); });
  }
}

SubmittedSteps SubmitSteps(const RunFolder& folder, const FileLock&, const Workflow& workflow,
                           const WorkflowOrder& order, const Patience& patience) {
  return StepsSubmission(folder, workflow, order, patience).Submit();
}

std::optional<Workflow> SubmittedWorkflow(const RunFolder& folder) {
  if (!HasStepJobs(folder) || ObserveSteps(folder).jobs.empty()) return {};
  const auto file = folder.path() / kSubmittedSteps;
  return ReadWorkflowDocument(ReadDocument(file), fmt::format("'{}'", file.string()));
}

void CancelSteps(const RunFolder& folder) {
  RequestCancel(folder);  // for jobs that begin meanwhile
  const SlurmClient slurm;
  const auto observed = ObserveSteps(folder);
  if (!observed.trouble.empty()) slurm.Ping();
  const auto end = [&](JobPhase phase, const auto& how) {
    for (const auto& [step, job] : observed.jobs) {
      if (job.phase() == phase) how(JobOfStep(folder, step));
    }
  };
  end(JobPhase::kWaiting, [&](const JobIdentity& job) { UnlessOver([&] { slurm.Cancel(job); }); });
  end(JobPhase::kRunning,
      [&](const JobIdentity& job) { UnlessOver([&] { slurm.Signal(job, SIGTERM, SignalTarget::kScript); }); });
}

}  // namespace slipway::launcher
