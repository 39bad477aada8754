#include "launcher/run/workflow/step_submission.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "core/clock.h"
#include "core/documents.h"
#include "core/error.h"
#include "launcher/run/batch/batch_record.h"
#include "launcher/run/batch/submit_job.h"
#include "launcher/run/workflow/ended_steps.h"
#include "launcher/run/workflow/job_facts.h"
#include "launcher/run/workflow/live_step_jobs.h"
#include "launcher/run/workflow/result_store.h"
#include "launcher/run/workflow/step_batch.h"
#include "launcher/run/workflow/step_observation.h"
#include "launcher/run/workflow/step_reuse.h"
#include "launcher/run_folder/cancel_request.h"
#include "launcher/workflow/condition.h"
#include "launcher/workflow/resolve.h"
#include "launcher/workflow/step_dependency.h"
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
        live_(workflow.steps.size()),
        job_of_(workflow.steps.size()),
        room_(patience) {}

  SubmittedSteps Submit() {
    const bool is_new = !HasStepJobs(folder_);
    WithdrawCancelRequest(folder_);
    if (is_new) BeginMarks(folder_);
    WriteFileDurably(folder_.path() / kSubmittedSteps, WriteWorkflowDocument(workflow_).dump() + "\n", kPlanMode);
    if (!is_new) live_ = FindLiveJobs(folder_, Names(), slurm_);  // first: what has ended by now has left its result
    SettleWhatIsKnown();
    OpenSteps();
    Begin();
    Replace();
    Keep();
    for (const auto& job : Jobs()) {
      if (IsCancelRequested(folder_)) break;
      SubmitInTime(job);
    }
    return counts_;
  }

 private:
  /// From now on no process of this host is the run's manager.
  void Begin() {
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
    submission_ = state.attempt;
  }

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& step : workflow_.steps) names.push_back(step.name);
    return names;
  }

  /// Before the run is open again: the journals never say that all is over while jobs are to come.
  void OpenSteps() {
    for (const auto step : workflow_.order) {
      if (IsFinal(board_.at(step)) || live_[step]) continue;
      MakeDirectories(StepFolder(folder_, NameOf(step)));
      if (!Reopen(step)) {
        TakeOver(step);
      } else if (JobOfStep(folder_, NameOf(step)).id != 0) {
        RemoveBatchRecord(StepFolder(folder_, NameOf(step)));  // that job may still carry out other steps
      }
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
    LinkResult(folder_, step.name, decision.id);
    const auto& result = store_.Read(decision.id);
    const bool own = decision.own || result.run == folder_.id();
    Settle(index, own ? DoneBefore(records_[step.name], decision.id, result.cost.seconds)
                      : StepRecord{.state = kReused, .result = decision.id});
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
    MarkEnd(folder_, NameOf(index), record.state);
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
                  fmt::format("wait for its end, or end it, and then: slipway resume {}", folder_.selector()));
    }
    auto& known = records_[NameOf(index)];
    auto now = ReadRecordOfStep(folder_.path(), NameOf(index));
    const bool has_ended = now != known && (HasResult(now.state) || now.state == kSkipped);
    known = std::move(now);
    if (has_ended) return false;
    // It is there before a node writes it: an NFS client remembers for a minute that it has found none.
    StepJournal journal(JournalOfStep(folder_.path(), NameOf(index)));
    if (known.state != kWaiting) journal.Write(NameOf(index), {});
    if (IsFinal(known.state)) RemoveMark(folder_, NameOf(index), known.state);
    return true;
  }

  void TakeOver(StepIndex step) {
    const auto& record = records_.at(NameOf(step));
    if (HasResult(record.state)) reuse_.Know(step, record.result);
    Settle(step, record);
    SettleWhatIsKnown();
  }

  /// A live job stays when all that it depends on stays, too.
  void Replace() {
    std::set<std::string> replaced;
    std::set<std::string> cancelled;
    for (bool is_new = true; is_new;) {  // a job of several steps goes as a whole
      is_new = false;
      for (const auto step : workflow_.order) {
        if (IsFinal(board_.at(step)) || !live_[step] || !live_[step]->waits) continue;
        if (replaced.contains(NumberOf(live_[step]->identity)) || !MustGo(step, replaced)) continue;
        is_new = replaced.insert(NumberOf(live_[step]->identity)).second;
      }
    }
    for (auto& job : live_) {
      if (!job || !replaced.contains(NumberOf(job->identity))) continue;
      if (cancelled.insert(NumberOf(job->identity)).second) UnlessOver([&] { slurm_.Cancel(job->identity); });
      job.reset();
    }
  }

  bool MustGo(StepIndex step, const std::set<std::string>& replaced) const {
    const auto gets_new = [&](StepIndex need) {
      if (IsFinal(board_.at(need))) return false;
      return !live_[need] || replaced.contains(NumberOf(live_[need]->identity));
    };
    const auto& job = *live_[step];
    return job.is_stuck || std::ranges::any_of(workflow_.needs[step], gets_new) || WaitsForGhost(step, job);
  }

  /// Whether it waits for the job of a step that has said its end a while ago. A controller that was killed may not
  /// know that a job has ended; it may take it a long time to notice.
  bool WaitsForGhost(StepIndex step, const LiveJob& job) const {
    return std::ranges::any_of(workflow_.needs[step], [&](StepIndex need) {
      if (!IsFinal(board_.at(need))) return false;
      const auto other = JobOfStep(folder_, NameOf(need));
      const bool waits = WaitsForTask(job, other) || (WaitsForAll(job, other) && !HasLiveSteps(other.id));
      return waits && HasSaidItsEndLongAgo(NameOf(need));
    });
  }

  bool HasLiveSteps(JobId number) const {
    return std::ranges::any_of(live_, [&](const auto& job) { return job && job->identity.id == number; });
  }

  bool HasSaidItsEndLongAgo(const std::string& step) const {
    std::error_code error;
    const auto said = std::filesystem::last_write_time(JournalOfStep(folder_.path(), step), error);
    return !error && std::filesystem::file_time_type::clock::now() - said > kPatienceWithSlurm;
  }

  void Keep() {
    std::map<JobId, std::vector<StepIndex>> steps_of;
    for (StepIndex step = 0; step < live_.size(); ++step) {
      if (!IsFinal(board_.at(step)) && live_[step]) steps_of[live_[step]->identity.id].push_back(step);
    }
    for (const auto& [number, steps] : steps_of) {
      for (const auto step : steps) {
        ++counts_.kept;
        const auto& job = live_[step]->identity;
        if (JobOfStep(folder_, NameOf(step)).id != job.id) Record(step, job, {});
        const bool is_alone = job.comment == CommentOfStep(folder_.path(), NameOf(step));
        job_of_[step] = AddressOf(job, steps, !is_alone);
      }
    }
  }

  static JobAddress AddressOf(const JobIdentity& job, const std::vector<StepIndex>& steps, bool is_partial) {
    const auto task = job.task ? std::optional(static_cast<int>(*job.task)) : std::nullopt;
    return {std::to_string(job.id), task, steps, is_partial};
  }

  void Record(StepIndex step, const JobIdentity& job, const std::string& doubt) const {
    WriteBatchRecord(StepFolder(folder_, NameOf(step)), {job, false, {}, doubt});
  }

  std::vector<StepJob> Jobs() {
    auto facts = FactsOf(workflow_, store_, slurm_);
    for (StepIndex step = 0; step < live_.size(); ++step) {
      facts.live[step] = live_[step].has_value() && !IsFinal(board_.at(step));
      facts.open[step] = !live_[step] && !IsFinal(board_.at(step));
    }
    return ShapeJobs(workflow_, facts);
  }

  /// Waits while the site takes no more jobs; needs of the steps may end meanwhile.
  void SubmitInTime(const StepJob& steps) {
    do {
      if (room_.has_waited() && AreBlocked(steps)) return;
    } while (!TryToSubmit(steps) && !IsCancelRequested(folder_));
  }

  /// False: there was no room, and may be now.
  bool TryToSubmit(const StepJob& steps) try {
    Submit(steps);
    room_.Taken();
    return true;
  } catch (const SubmissionInDoubt&) {
    throw;
  } catch (SlurmError& error) {
    const auto in = counts_.submitted + counts_.kept;
    if (in == 0) throw;
    const auto so_far = fmt::format("the jobs of {} of {} steps are submitted", in, StepsToBe());
    const auto is_over = [&] { return IsCancelRequested(folder_); };
    if (MayHaveRoomLater(error.trouble()) && room_.Await(error, so_far, is_over)) return false;
    error.AddContext(so_far);
    throw;
  }

  std::size_t StepsToBe() const { return workflow_.steps.size() - static_cast<std::size_t>(counts_.settled); }

  /// When all are, they get no job.
  bool AreBlocked(const StepJob& steps) {
    std::map<StepIndex, StepIndex> blocked;  // by what
    for (const auto step : steps.steps) {
      for (const auto need : workflow_.needs[step]) {
        if (blocked.contains(need) || HasFailed(need)) blocked.emplace(step, need);
      }
    }
    if (blocked.size() != steps.steps.size()) return false;
    for (const auto& [step, need] : blocked) {
      Note(step, {.state = kBlocked, .reason = fmt::format("step '{}' has failed", NameOf(need))});
    }
    return true;
  }

  bool HasFailed(StepIndex step) const {
    const auto state = ReadRecordOfStep(folder_.path(), NameOf(step)).state;
    return state == kFailed || state == kBlocked || state == kCancelled;
  }

  /// Slurm takes a job that it has forgotten for one that has succeeded.
  std::optional<JobAddress> JobOf(StepIndex need) const {
    if (room_.has_waited() && IsFinal(ReadRecordOfStep(folder_.path(), NameOf(need)).state)) return {};
    return job_of_[need];
  }

  void Submit(const StepJob& steps) {
    const auto dependency = DependencyOf(workflow_, steps, [this](StepIndex need) { return JobOf(need); });
    const auto job = MakeStepJob(workflow_, steps, folder_.path(), submission_, dependency);
    MakeDirectories(job.directory);
    WriteScript(job);
    JobIdentity identity{0, {}, job.comment, job.directory, {}};
    ForEach(steps, identity,
            [&](StepIndex step, const JobIdentity& own) { Record(step, own, "it is being submitted"); });
    identity = SubmitOrForget(steps, job);
    ForEach(steps, identity, [&](StepIndex step, const JobIdentity& own) {
      Record(step, own, {});
      job_of_[step] = AddressOf(own, steps.steps, false);
    });
    Json event{{"step", NameOf(steps.steps.front())}, {"job", identity.id}, {"cluster", identity.cluster}};
    if (steps.steps.size() > 1) event["steps"] = steps.steps.size();
    folder_.AppendEvent("submitted", event);
    ++counts_.jobs;
    counts_.submitted += static_cast<int>(steps.steps.size());
  }

  /// With the identity of each step's job: its task of an array.
  template <class Act>
  void ForEach(const StepJob& steps, JobIdentity identity, const Act& act) const {
    for (const auto step : steps.steps) {
      if (const auto task = TaskOf(workflow_, steps, step)) identity.task = static_cast<std::uint32_t>(*task);
      act(step, identity);
    }
  }

  JobIdentity SubmitOrForget(const StepJob& steps, const BatchJob& job) try {
    return SubmitJob(slurm_, job);
  } catch (const SubmissionInDoubt&) {
    throw;
  } catch (const SlurmError&) {
    for (const auto step : steps.steps) RemoveBatchRecord(StepFolder(folder_, NameOf(step)));
    throw;
  }

  const RunFolder& folder_;
  const Workflow& workflow_;
  SlurmClient slurm_;
  ResultStore store_;
  std::map<std::string, StepRecord> records_;
  std::map<std::string, std::string> made_;
  StepReuse reuse_;
  StepBoard board_;
  std::vector<std::optional<LiveJob>> live_;
  std::vector<std::optional<JobAddress>> job_of_;  ///< of steps that are not over
  JobRoom room_;
  int submission_ = 0;
  SubmittedSteps counts_;
};

}  // namespace

std::string RequireStepJobs(const Workflow& workflow, const std::filesystem::path& runs_directory,
                            const SlurmClientOptions& options) {
  const SlurmClient slurm(options);
  const ResultStore store(runs_directory);
  const auto planned = runs_directory / (workflow.name + "-<time>-<id>");
  const auto limits = PartitionLimitsOf(slurm);
  std::string doubt;
  int others = 0;
  for (const auto& steps : ShapeJobs(workflow, FactsOf(workflow, store, slurm))) {
    const auto job = MakeStepJob(workflow, steps, planned, 1, {});
    const auto& first = workflow.steps[steps.steps.front()].name;
    const auto step = fmt::format("in step '{}'", first);
    const auto doubts = WithContext(step, [&] { return RequireAPartition(job, limits); });
    if (doubts.empty()) continue;
    if (!doubt.empty()) {
      ++others;
    } else {
      doubt = fmt::format("{}: {}", step, fmt::join(doubts, "; "));
    }
  }
  if (others == 0) return doubt;
  return fmt::format("{}; {} more job{} such limits", doubt, others, others == 1 ? " exceeds" : "s exceed");
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
    std::set<std::string> done;  // a second signal would be more than a request
    for (const auto& [step, job] : observed.jobs) {
      const auto identity = JobOfStep(folder, step);
      if (job.phase() == phase && done.insert(NumberOf(identity)).second) UnlessOver([&] { how(identity, job); });
    }
  };
  end(JobPhase::kWaiting, [&](const JobIdentity& identity, const SlurmJob&) { slurm.Cancel(identity); });
  end(JobPhase::kRunning, [&](const JobIdentity& identity, const SlurmJob& job) {
    if (job.state == JobState::kSuspended) return slurm.Cancel(identity);  // Slurm sends it no signal
    slurm.Signal(identity, SIGTERM, SignalTarget::kScript);
  });
}

}  // namespace slipway::launcher
