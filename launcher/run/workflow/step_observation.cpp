#include "launcher/run/workflow/step_observation.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/log.h"
#include "launcher/cluster/wait_reasons.h"
#include "launcher/run/batch/batch_record.h"
#include "launcher/run/batch/job_of_run.h"
#include "launcher/run/workflow/live_step_jobs.h"
#include "launcher/run/workflow/step_batch.h"
#include "launcher/run/workflow/workflow_folder.h"
#include "launcher/run_folder/cancel_request.h"
#include "launcher/run_folder/manager_elsewhere.h"

namespace slipway::launcher {
namespace {

using enum StepState;

/// After the end of a job its record may not be visible here: an NFS client keeps what it has seen for up to a minute.
constexpr auto kPatienceWithRecord = std::chrono::minutes(2);

/// A step is not running before its job says so: a job that was queued again waits.
void Wait(const SlurmJob& job, const std::string& number, bool for_others, StepRecord& record) {
  record.state = for_others ? kWaiting : kReady;
  record.reason = for_others ? fmt::format("job {} waits for the jobs of other steps", number)
                             : DescribeWait(job, number, ExplainWait(job));
}

/// A job may carry out several steps.
void WaitInside(const SlurmJob& job, const std::string& number, bool for_others, StepRecord& record) {
  const bool waits = record.state == kWaiting;
  if (waits && !for_others) record.state = kReady;
  if (job.state == JobState::kSuspended) {
    record.reason = DescribeSuspended(number);
  } else if (waits) {
    record.reason = fmt::format("job {} runs, and has not started it yet", number);
  }
}

/// From the site's accounting, where it has one.
std::optional<SlurmJob> PastJob(const SlurmClient& slurm, const JobIdentity& job) try {
  return slurm.PastJob(job);
} catch (const SlurmError&) {
  return {};
}

/// How a step ended whose job has left no record.
void EndByJob(const SlurmJob& job, const std::string& number, StepRecord& record) {
  record.state = job.state == JobState::kCancelled ? kCancelled : kFailed;
  record.reason = fmt::format("job {}: {}", number, InWords(job.state, job.flags));
  if (job.state == JobState::kFailed) record.reason += fmt::format(" ({})", job.status().Describe());
  if (job.HadNoOutput()) record.reason += fmt::format("; node {} cannot write '{}'", job.batch_host, job.output);
  if (!job.reason_text.empty()) record.reason += "; " + job.reason_text;
  if (job.state == JobState::kCompleted) record.reason += ", but it left no record of its end";
}

/// Whether the job must have left a record: it ended by itself. A job of several steps fails with one of them.
bool LeavesRecord(const SlurmJob& job, bool is_shared) {
  constexpr ExitStatus kOneFailed{.code = static_cast<int>(ErrorKind::kFailed)};
  return job.state == JobState::kCompleted ||
         (is_shared && job.state == JobState::kFailed && job.status() == kOneFailed);
}

void WaitForRecord(const std::string& number, StepRecord& record) {
  record.state = kRunning;
  record.reason = fmt::format("job {} is over, and its record is not visible on this host yet", number);
}

void EndForgotten(const std::string& number, StepRecord& record) {
  record.state = kFailed;
  record.reason = fmt::format(
      "Slurm no longer knows job {}, and it left no record of its end: its node or the controller may have failed; "
      "slipway resume runs the step again",
      number);
}

class Observer {
 public:
  explicit Observer(const RunFolder& folder) : folder_(folder), steps_(ReadStoredWorkflow(folder).steps) {
    auto records = ReadStepJournal(folder.path());
    for (StepIndex i = 0; i < steps_.size(); ++i) {
      index_.emplace(steps_[i].name, i);
      if (IsFinal(records[steps_[i].name].state)) recorded_.insert(steps_[i].name);
      observed_.records.emplace(steps_[i].name, std::move(records[steps_[i].name]));
    }
  }

  void AskSlurm(const SlurmView& view) {
    std::map<std::string, JobIdentity> open;
    for (const auto& [step, record] : observed_.records) {
      if (!IsFinal(record.state)) open.emplace(step, JobOfStep(folder_, step));
    }
    if (open.empty()) return;
    try {
      Ask(open, view);
    } catch (const SlurmError& error) {
      observed_.trouble = error.message();
    }
  }

  /// Steps that cannot run any more because of others, or of the user.
  void Spread() {
    for (const auto& step : observed_.unsubmitted) {
      if (IsCancelRequested(folder_)) observed_.records.at(step).state = kCancelled;
    }
    for (StepIndex step = 0; step < steps_.size(); ++step) Spread(step);
  }

  ObservedSteps Take() { return std::move(observed_); }

 private:
  void Ask(const std::map<std::string, JobIdentity>& open, const SlurmView& view) {
    const auto& slurm = view.slurm;
    std::set<JobId> numbers;
    for (const auto& [step, job] : open) {
      if (job.id != 0) numbers.insert(job.id);
    }
    const auto jobs = slurm.Jobs(std::vector(numbers.begin(), numbers.end()), OwnerOfJobs(folder_));
    for (const auto& [step, meant] : open) {
      if (meant.id == 0) continue;
      RequireCluster(meant, slurm.ClusterName());
      Correct(view, step, meant, jobs);
    }
    LookForUnsubmitted(slurm, open);
  }

  void LookForUnsubmitted(const SlurmClient& slurm, const std::map<std::string, JobIdentity>& open) {
    Submissions submissions(slurm);
    for (const auto& step : steps_) {
      const auto found = open.find(step.name);
      if (found == open.end() || found->second.id != 0) continue;
      if (HasBegunSubmission(folder_, step.name) && submissions.Find(found->second)) continue;
      observed_.unsubmitted.push_back(step.name);
    }
  }

  void Correct(const SlurmView& view, const std::string& step, const JobIdentity& meant,
               const std::vector<SlurmJob>& jobs) {
    auto& record = observed_.records.at(step);
    const auto found = std::ranges::find_if(jobs, [&](const auto& job) { return IsMeant(meant, job); });
    const auto number = NumberOf(meant);
    record.job = meant.id;
    record.task = meant.task;
    if (found != jobs.end() && found->phase() != JobPhase::kOver) {
      observed_.jobs.emplace(step, *found);
      const bool for_others = WaitsForOthers(step);
      found->phase() == JobPhase::kWaiting ? Wait(*found, number, for_others, record)
                                           : WaitInside(*found, number, for_others, record);
      return;
    }
    // What the job has written last counts.
    if (auto last = ReadRecordOfStep(folder_.path(), step); IsFinal(last.state)) {
      record = std::move(last);
      recorded_.insert(step);
      return;
    }
    const auto past = found != jobs.end() ? std::optional(*found) : PastJob(view.slurm, meant);
    if (past && IsRecordToCome(*past, step, meant, view.clock.Now())) return WaitForRecord(number, record);
    auto ended = record;
    past ? EndByJob(*past, number, ended) : EndForgotten(number, ended);
    if (ended.state == kCancelled || !past) {
      record.state = kWaiting;
      gone_[step] = std::move(ended);
    } else {
      record = std::move(ended);
    }
  }

  bool IsRecordToCome(const SlurmJob& job, const std::string& step, const JobIdentity& meant, WallTime now) const {
    const bool is_shared = !meant.task && meant.comment != CommentOfStep(folder_.path(), step);
    return LeavesRecord(job, is_shared) && job.end && now - *job.end < kPatienceWithRecord;
  }

  bool WaitsForOthers(const std::string& step) const {
    return std::ranges::any_of(steps_[index_.at(step)].needs, [&](const std::string& need) {
      return index_.contains(need) && !recorded_.contains(need);
    });
  }

  /// Of a live job only what a journal says counts: Slurm removes the job when it cannot run.
  void Spread(StepIndex step) {
    const bool is_live = observed_.jobs.contains(steps_[step].name);
    auto& record = observed_.records.at(steps_[step].name);
    if (IsFinal(record.state) || record.state == kRunning || !seen_.insert(step).second) return;
    for (const auto& name : steps_[step].needs) {
      const auto found = index_.find(name);
      if (found == index_.end()) continue;
      Spread(found->second);
      const auto state = observed_.records.at(name).state;
      if (state != kFailed && state != kBlocked && state != kCancelled) continue;
      if (is_live && !recorded_.contains(name)) continue;
      record.state = state == kCancelled ? kCancelled : kBlocked;
      record.reason = fmt::format("step '{}' {}", name, state == kCancelled ? "was cancelled" : "has failed");
      if (record.state == kBlocked) return;
    }
    const auto gone = gone_.find(steps_[step].name);
    if (gone != gone_.end() && !IsFinal(record.state)) record = gone->second;
  }

  const RunFolder& folder_;
  std::vector<StoredStep> steps_;
  std::map<std::string, StepIndex> index_;
  /// Of jobs that were removed or forgotten; why may be a need that has failed.
  std::map<std::string, StepRecord> gone_;
  std::set<std::string> recorded_;  ///< whose end is in a journal
  std::set<StepIndex> seen_;
  ObservedSteps observed_;
};

bool AllOver(const ObservedSteps& observed) {
  return std::ranges::all_of(observed.records, [](const auto& entry) { return IsFinal(entry.second.state); });
}

int CountOf(const ObservedSteps& observed, StepState state) {
  return static_cast<int>(
      std::ranges::count(observed.records, state, [](const auto& entry) { return entry.second.state; }));
}

/// The step that came into the state first.
std::string FirstIn(StepState state, const ObservedSteps& observed) {
  const std::pair<const std::string, StepRecord>* first = nullptr;
  for (const auto& entry : observed.records) {
    const bool counts = entry.second.state == state;
    if (counts && (first == nullptr || entry.second.time < first->second.time)) first = &entry;
  }
  return first == nullptr ? std::string() : first->first;
}

void EnterEnd(RunState& state, const RunFolder& folder, const ObservedSteps& observed) {
  const auto why = CountOf(observed, kFailed) > 0 ? kFailed : kBlocked;  // whose need was made meanwhile
  const int cancelled = CountOf(observed, kCancelled);
  if (IsCancelRequested(folder) || (why == kBlocked && cancelled > 0)) {
    EndAs(state, Phase::kCancelled, cause::Cancelled{});
  } else if (const int failed = CountOf(observed, why); failed > 0) {
    EndAs(state, Phase::kFailed, cause::StepsFailed{failed, FirstIn(why, observed)});
  } else {
    EndAs(state, Phase::kSucceeded, cause::Completed{});
  }
  state.ended = FormatUtc(SystemClock().Now());
}

/// What Slurm said of steps is forgotten after a while.
void KeepEnds(const RunFolder& folder, const ObservedSteps& observed, StepsNews& news) {
  for (const auto& [step, record] : observed.records) {
    if (ReadRecordOfStep(folder.path(), step).state == record.state) continue;
    MakeDirectories(StepFolder(folder, step));
    StepJournal(JournalOfStep(folder.path(), step)).Write(step, record);
    if (record.state == kFailed) news.failed.emplace_back(step, record.reason);
  }
}

struct LastLook {
  RunState state;
  StepsNews news;  ///< what this process has recorded
};

/// The jobs of two steps may end at once, and `resume` may open the run again: who has the lock looks once more.
LastLook RecordEnd(const RunFolder& folder, const std::function<ObservedSteps(const RunFolder&)>& observe) {
  const auto lock = LockEnd(folder);
  LastLook look{folder.ReadState(), {}};
  auto& state = look.state;
  const auto observed = observe(folder);
  if (HasEnded(state.phase) || !AllOver(observed)) return look;
  KeepEnds(folder, observed, look.news);
  EnterEnd(state, folder, observed);
  folder.WriteState(state);
  folder.AppendEvent(PhaseName(state.phase), Json{{"attempt", state.attempt}, {"reason", state.reason}});
  look.news.ended = state;
  return look;
}

ObservedSteps StepsInJournals(const RunFolder& folder) {
  Observer observer(folder);
  observer.Spread();
  return observer.Take();
}

RunState WithSteps(RunState state, const RunFolder& folder, const ObservedSteps& observed) {
  const auto missing = observed.unsubmitted.size();
  const bool is_cut = missing > 0 && !IsManagerLockHeld(folder.path());  // a submission holds it
  if (is_cut && observed.jobs.empty()) {
    EndAs(state, Phase::kLost, cause::NotSubmitted{fmt::format("{} of {} steps", missing, observed.records.size())});
    return state;
  }
  if (missing > 0) {
    const auto then =
        is_cut ? fmt::format("slipway resume {} submits them", folder.selector()) : "slipway submits them now";
    state.reason = fmt::format("{} of {} steps are not submitted: {}", missing, observed.records.size(), then);
  }
  const bool has_begun = std::ranges::any_of(observed.records, [](const auto& entry) {
    return entry.second.state == kRunning || entry.second.state == kDone;
  });
  if (!has_begun) state.phase = Phase::kQueued;
  if (!observed.trouble.empty()) {
    state.reason = fmt::format("what Slurm says about its jobs is not known: {}", observed.trouble);
  }
  return state;
}

}  // namespace

FileLock LockEnd(const RunFolder& folder) {
  return FileLock::Acquire(folder.path() / ".steps.lock", LockMode::kExclusive);
}

bool HasStepJobs(const RunFolder& folder) { return Exists(folder.path() / kSubmittedSteps); }

JobIdentity JobOfStep(const RunFolder& folder, const std::string& step) {
  auto job = ReadBatchRecord(StepFolder(folder, step)).job;
  if (job.comment.empty()) job.comment = CommentOfStep(folder.path(), step);
  job.work_dir = FolderOfJob(folder.path(), job.comment);
  return job;
}

std::filesystem::path LogOfStepJob(const RunFolder& folder, const std::string& step) {
  const auto job = JobOfStep(folder, step);
  const auto log = std::filesystem::path(job.work_dir) / "job.log";
  return job.task ? OutputOfTask(log, std::to_string(*job.task)) : log;
}

bool HasBegunSubmission(const RunFolder& folder, const std::string& step) {
  return !ReadBatchRecord(StepFolder(folder, step)).doubt.empty();
}

ObservedSteps ObserveSteps(const RunFolder& folder, const SlurmView& view) {
  Observer observer(folder);
  if (!HasStepJobs(folder)) return observer.Take();
  if (!HasEnded(folder.ReadState().phase)) observer.AskSlurm(view);
  observer.Spread();
  return observer.Take();
}

namespace {

struct Look {
  RunState state;
  ObservedSteps steps;
  bool ends = false;  ///< all steps have ended, and the run's end is not recorded
};

Look LookAt(const RunFolder& folder, const SlurmView& view) {
  Look look{folder.ReadState(), ObserveSteps(folder, view)};
  if (!HasStepJobs(folder) || HasEnded(look.state.phase)) return look;
  look.ends = AllOver(look.steps);
  if (!look.ends) look.state = WithSteps(std::move(look.state), folder, look.steps);
  return look;
}

}  // namespace

WorkflowLook SeeWorkflow(const RunFolder& folder) {
  auto [state, steps, ends] = LookAt(folder, {});
  if (ends) EnterEnd(state, folder, steps);
  return {std::move(state), std::move(steps.records)};
}

WorkflowLook LookAtWorkflow(const RunFolder& folder, const SlurmView& view) {
  auto [state, steps, ends] = LookAt(folder, view);
  if (!ends) return {std::move(state), std::move(steps.records)};
  try {
    auto last = RecordEnd(folder, [&](const RunFolder& run) { return ObserveSteps(run, view); });
    SendNewsFromHere(folder, last.news);
    return {std::move(last.state), std::move(steps.records)};
  } catch (const SystemError& error) {
    log::Info("{}", error.message());  // a reader who may not write: the owner's next look records it
    EnterEnd(state, folder, steps);
    return {std::move(state), std::move(steps.records)};
  }
}

RunState ObserveWorkflow(const RunFolder& folder) {
  auto state = folder.ReadState();
  return HasStepJobs(folder) && !HasEnded(state.phase) ? LookAtWorkflow(folder).state : state;
}

StepsNews RecordEndIfOver(const RunFolder& folder) { return RecordEnd(folder, StepsInJournals).news; }

void RecordStart(const RunFolder& folder) {
  const auto lock = LockEnd(folder);
  auto state = folder.ReadState();
  if (!state.started.empty() || HasEnded(state.phase)) return;
  state.started = FormatUtc(SystemClock().Now());
  folder.WriteState(state);
}

}  // namespace slipway::launcher
