#include "launcher/run/batch_run.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/log.h"
#include "core/process.h"
#include "launcher/engines/slurm/poll_interval.h"
#include "launcher/engines/slurm/sbatch.h"
#include "launcher/engines/slurm/slurm_client.h"
#include "launcher/plan/batch_plan.h"
#include "launcher/run/batch_record.h"
#include "launcher/run/batch_state.h"
#include "launcher/run/cancel_request.h"
#include "launcher/run/folder_trouble.h"
#include "launcher/run/staged_in.h"
#include "launcher/run/submit_request.h"

namespace slipway::launcher {
namespace {

constexpr auto kFolderInterval = std::chrono::seconds(1);
/// A controller that is being repaired does not end jobs at their time limit either.
constexpr auto kRequeuePatience = std::chrono::hours(1);
constexpr auto kLongestRequeuePause = std::chrono::seconds(16);

/// The number is in the state once the manager has begun, and in the record before. It is the manager's that counts:
/// after a lost answer there may be two jobs.
JobId JobOf(const RunFolder& folder, const RunState& state) {
  return state.batch_job != 0 ? state.batch_job : ReadBatchRecord(folder).job;
}

/// Until its job begins the run is in the hands of who submits it.
void EnterQueue(const RunFolder& folder) {
  auto state = folder.ReadState();
  state.phase = Phase::kQueued;
  state.host = HostName();
  state.manager = IdentityOf(::getpid());
  state.batch_job = 0;
  state.reason.clear();
  state.detail.clear();
  state.ended.clear();
  folder.WriteState(state);
  folder.AppendEvent(PhaseName(state.phase), Json{{"reason", ""}});
}

void Enter(const RunFolder& folder, Phase phase, const std::string& reason) {
  auto state = folder.ReadState();
  state.phase = phase;
  state.reason = reason;
  state.detail.clear();
  state.ended = HasEnded(phase) ? FormatUtc(SystemClock().Now()) : "";
  folder.WriteState(state);
  folder.AppendEvent(PhaseName(phase), Json{{"reason", reason}});
}

/// An answer that did not come may be that of a job that was submitted all the same. An earlier job of the run may
/// still be ending.
std::optional<JobId> FindSubmitted(const SlurmClient& slurm, const std::string& comment) {
  for (const auto& job : slurm.FindJobs(comment)) {
    if (job.phase() == JobPhase::kWaiting || job.phase() == JobPhase::kRunning) return job.id;
  }
  return {};
}

/// Whether there is a job of the run is not known, and may show when the controller answers again: what it has received
/// before it fell silent it still carries out.
class SubmissionInDoubt : public SlurmError {
 public:
  SubmissionInDoubt(const SlurmError& error, const std::string& run) : SlurmError(error.report()) {
    AddContext(fmt::format("whether run {0} has a job shows in slipway status {0} when Slurm answers again", run));
  }
};

/// Those after which a submission that did not succeed may have happened.
bool LeavesDoubt(SlurmTrouble trouble) {
  return trouble == SlurmTrouble::kTimeout || trouble == SlurmTrouble::kHelper || trouble == SlurmTrouble::kController;
}

std::optional<JobId> FindIfAnswered(const SlurmClient& slurm, const std::string& comment) try {
  return FindSubmitted(slurm, comment);
} catch (const SlurmError&) {
  return {};
}

/// A site may print numbers around that of the job.
JobId SubmitBySbatch(const SlurmClient& slurm, const SubmitRequest& request) {
  const auto said = SubmitWithSbatch(request.script_path);
  const auto job = slurm.Job(said);
  if (job && job->comment == request.comment) return said;
  return FindSubmitted(slurm, request.comment).value_or(said);
}

JobId SubmitOrFind(const SlurmClient& slurm, const BatchJob& job, const SubmitRequest& request,
                   const std::string& run) {
  try {
    return OptionsOnlyForSbatch(job).empty() ? slurm.Submit(request).job : SubmitBySbatch(slurm, request);
  } catch (const SlurmError& error) {
    if (!LeavesDoubt(error.trouble())) throw;
    if (const auto found = FindIfAnswered(slurm, request.comment)) return *found;
    throw SubmissionInDoubt(error, run);
  }
}

void RequireFittingPartition(const SlurmClient& slurm, const BatchJob& job) {
  std::vector<PartitionLimits> limits;
  for (const auto& partition : slurm.Partitions()) limits.push_back(LimitsOf(partition));
  RequireAPartition(job, limits);
}

/// That of this process. A job that is submitted from within another gets nothing of what Slurm told that one.
std::vector<std::string> EnvironmentOfJob() {
  auto entries = Environment::Inherited().entries();
  std::erase_if(entries,
                [](const auto& entry) { return entry.starts_with("SLURM") && !entry.starts_with("SLURM_CONF="); });
  return entries;
}

SubmitRequest Prepare(const RunFolder& folder, const Plan& plan, const BatchJob& job) {
  auto request = RequestOf(job, EnvironmentOfJob());
  WriteFile(request.script_path, request.script, 0750);
  for (const auto& list : StageLists(plan, folder.path())) WriteFile(list.path, list.content);
  RecordStagedIn(folder, plan);
  return request;
}

BatchRecord Submit(const RunFolder& folder, const Plan& plan) {
  const auto job = MakeBatchJob(plan, folder.path());
  const SlurmClient slurm;
  RequireFittingPartition(slurm, job);
  const auto request = Prepare(folder, plan, job);
  RemoveBatchRecord(folder);  // of an earlier submission
  WithdrawCancelRequest(folder);
  EnterQueue(folder);
  return {SubmitOrFind(slurm, job, request, folder.id()), !job.burst_buffer.out.empty(), {}, {}};
}

/// Nobody submits it any more: from now on only Slurm can tell. The state may be in the hands of the job already.
void LeaveInDoubt(const RunFolder& folder, const SubmissionInDoubt& error) {
  WriteBatchRecord(folder, {0, false, {}, error.message()});
  folder.AppendEvent("submission_in_doubt", Json{{"reason", error.message()}});
}

/// The job is there, whatever becomes of the note: its comment leads to it, too, and its manager knows it.
void Note(const RunFolder& folder, const BatchRecord& record) try {
  WriteBatchRecord(folder, record);
  folder.AppendEvent("submitted", Json{{"job", record.job}});
} catch (const Error& error) {
  log::Warn("job {} is submitted, but that cannot be written down: {}", record.job, error.message());
}

/// Who asked for the end before the job had a number could only leave a note. It is looked at after the number has
/// been written down: of the two, one sees what the other has written.
void CancelIfAsked(const RunFolder& folder, JobId job) {
  if (!IsCancelRequested(folder)) return;
  SlurmClient().Cancel(job);
  Enter(folder, Phase::kCancelled, "cancelled by the user while it was being submitted");
}

/// Its number was never written down, and no job is of this run.
RunState Unsubmitted(RunState state, const std::string& doubt) {
  const bool may_be_at_work = state.host != HostName() || IsAlive(state.manager);
  if (doubt.empty() && may_be_at_work) return state;
  state.phase = Phase::kLost;
  state.reason = fmt::format("it was not submitted{}; start it with: slipway resume {}",
                             doubt.empty() ? "" : fmt::format(" ({})", doubt), state.run);
  return state;
}

/// How the stage-out ended is known as long as Slurm remembers the job: whoever sees it writes it down.
BatchRecord NoteStageOut(const RunFolder& folder, BatchRecord record, const std::optional<SlurmJob>& job) {
  record.stages_out = false;
  record.lost = job ? job->reason_text : "Slurm does not know the job any more, and nobody asked it before";
  try {
    WriteBatchRecord(folder, record);
  } catch (const SystemError& error) {
    log::Info("{}", error.message());  // a reader who may not write: the next one asks again
  }
  return record;
}

/// Its manager has said how it ended; what directives copy out of the buffer comes after that.
RunState AfterItsEnd(const RunFolder& folder, RunState state, const std::optional<SlurmJob>& job) {
  auto record = ReadBatchRecord(folder);
  if (record.stages_out) {
    if (job && job->phase() != JobPhase::kOver) return WhileStagingOut(std::move(state), *job);
    record = NoteStageOut(folder, std::move(record), job);
  }
  return record.lost.empty() ? state : WithLostResults(std::move(state), record.job, record.lost);
}

/// A manager that could not write its last word down has said it nowhere.
RunState WithoutLastWord(const RunFolder& folder, RunState state) {
  if (!HasEnded(state.phase)) return state;
  if (const auto trouble = TroubleOf(folder.path()); !trouble.empty()) state.reason += "; " + trouble;
  return state;
}

/// Runs whose jobs the controller is asked about together.
class Observation {
 public:
  explicit Observation(const std::vector<RunFolder>& folders) : folders_(folders), runs_(folders.size()) {
    for (std::size_t i = 0; i < folders.size(); ++i) {
      runs_[i].state = folders[i].ReadState();
      auto& state = runs_[i].state;
      if (IsInBatchSystem(folders[i], state)) {
        by_owner_[OwnerOf(folders[i])].push_back(i);
      } else if (HasEnded(state.phase)) {
        state = AfterItsEnd(folders[i], std::move(state), {});
      }
    }
  }

  /// A controller that does not answer for one owner is not asked for the others.
  void AskSlurm() {
    std::string trouble;
    for (const auto& [owner, indices] : by_owner_) {
      if (trouble.empty()) trouble = Ask(owner, indices);
      if (!trouble.empty()) NoteTrouble(indices, trouble);
    }
  }

  std::vector<ObservedRun> TakeRuns() { return std::move(runs_); }

 private:
  static std::uint32_t OwnerOf(const RunFolder& folder) {
    struct stat info {};
    CheckErrno(::stat(folder.path().c_str(), &info), fmt::format("cannot look at '{}'", folder.path().string()));
    return info.st_uid;
  }

  /// Why there is no answer, or empty.
  std::string Ask(std::uint32_t owner, const std::vector<std::size_t>& indices) try {
    const SlurmClient slurm;
    std::vector<JobId> numbers;
    for (const auto i : indices) numbers.push_back(NumberOf(i, slurm));
    auto asked = numbers;
    std::erase(asked, JobId{0});
    const auto jobs = slurm.Jobs(asked, owner);
    for (std::size_t k = 0; k < indices.size(); ++k) Correct(indices[k], numbers[k], jobs, slurm);
    return {};
  } catch (const SlurmError& error) {
    return error.message();
  }

  JobId NumberOf(std::size_t i, const SlurmClient& slurm) const {
    const auto number = JobOf(folders_[i], runs_[i].state);
    return number != 0 ? number : FindSubmitted(slurm, JobComment(folders_[i].path())).value_or(0);
  }

  void Correct(std::size_t i, JobId number, const std::vector<SlurmJob>& jobs, const SlurmClient& slurm) {
    auto& run = runs_[i];
    if (number == 0) {
      run.state = Unsubmitted(std::move(run.state), ReadBatchRecord(folders_[i]).doubt);
      return;
    }
    const auto found = std::find_if(jobs.begin(), jobs.end(), [&](const auto& job) { return job.id == number; });
    // A file server may show another owner than the job has: who is not among his jobs is asked about alone.
    run.job = found != jobs.end() ? std::optional(*found) : slurm.Job(number);
    // A manager that has just written its last word is over, too: its word counts.
    run.state = folders_[i].ReadState();
    run.state.batch_job = number;
    run.state = HasEnded(run.state.phase) ? AfterItsEnd(folders_[i], std::move(run.state), run.job)
                                          : WithoutLastWord(folders_[i], WithJob(std::move(run.state), run.job));
  }

  void NoteTrouble(const std::vector<std::size_t>& indices, const std::string& trouble) {
    for (const auto i : indices) {
      runs_[i].trouble = trouble;
      auto& state = runs_[i].state;
      state.reason += fmt::format("{}what Slurm says about job {} is not known: {}", state.reason.empty() ? "" : "; ",
                                  JobOf(folders_[i], state), trouble);
    }
  }

  const std::vector<RunFolder>& folders_;
  std::vector<ObservedRun> runs_;
  std::map<std::uint32_t, std::vector<std::size_t>> by_owner_;  ///< of those in the batch system
};

/// The first look is at once, the next as the state of the job says.
class Poll {
 public:
  bool IsDue() const { return SystemClock().Steady() >= next_; }

  void Took(const RunState& state, SteadyTime asked) {
    if (state.phase != last_) since_ = asked;
    last_ = state.phase;
    PollRound round;
    round.phase = state.phase == Phase::kQueued ? JobPhase::kWaiting : JobPhase::kRunning;
    const auto now = SystemClock().Steady();
    round.in_phase = std::chrono::duration_cast<std::chrono::milliseconds>(now - since_);
    round.answer_took = std::chrono::duration_cast<std::chrono::milliseconds>(now - asked);
    next_ = now + NextPollAfter(round);
  }

 private:
  SteadyTime next_{};
  SteadyTime since_{};
  Phase last_ = Phase::kCreated;
};

}  // namespace

std::uint32_t OwnBatchJob() {
  const char* job = std::getenv("SLURM_JOB_ID");
  return job != nullptr ? static_cast<std::uint32_t>(std::strtoul(job, nullptr, 10)) : 0;
}

void RequireBatchSystem() { SlurmClient().Ping(); }

std::uint32_t SubmitBatchRun(const RunFolder& folder, const Plan& plan) {
  BatchRecord record;
  try {
    record = Submit(folder, plan);
  } catch (const SubmissionInDoubt& error) {
    LeaveInDoubt(folder, error);
    throw;
  } catch (const Error& error) {
    Enter(folder, Phase::kFailed, error.message());
    throw;
  }
  Note(folder, record);
  CancelIfAsked(folder, record.job);
  return record.job;
}

bool IsInBatchSystem(const RunFolder& folder, const RunState& state) {
  if (HasEnded(state.phase)) return ReadBatchRecord(folder).stages_out;
  return state.phase == Phase::kQueued || JobOf(folder, state) != 0;
}

std::vector<ObservedRun> ObserveRuns(const std::vector<RunFolder>& folders) {
  Observation observation(folders);
  observation.AskSlurm();
  return observation.TakeRuns();
}

RunState ObserveRun(const RunFolder& folder) { return std::move(ObserveRuns({folder}).front().state); }

bool SleepOn(std::chrono::nanoseconds longest) {
  SystemClock().Sleep(longest);
  return true;
}

std::optional<RunState> WaitForBatchEnd(const RunFolder& folder, std::optional<Seconds> limit, const Pause& pause) {
  const auto deadline = SystemClock().Steady() + std::chrono::duration_cast<std::chrono::nanoseconds>(
                                                     limit.value_or(std::chrono::hours(24 * 365)));
  Poll poll;
  while (true) {
    const auto asked = SystemClock().Steady();
    const bool asks = poll.IsDue();
    const auto state = asks ? ObserveRun(folder) : folder.ReadState();
    if (asks) poll.Took(state, asked);
    const bool copies_out = !asks && HasEnded(state.phase) && IsInBatchSystem(folder, state);
    if (HasEnded(state.phase) && !copies_out) return state;
    const auto left = deadline - SystemClock().Steady();
    if (left <= std::chrono::nanoseconds(0)) return {};
    if (!pause(std::min<std::chrono::nanoseconds>(left, kFolderInterval))) return {};
  }
}

void CancelBatchRun(const RunFolder& folder, const RunState& state) {
  const SlurmClient slurm;
  auto number = JobOf(folder, state);
  if (number == 0) {
    RequestCancel(folder);
    number = ReadBatchRecord(folder).job;
    if (number == 0) number = FindSubmitted(slurm, JobComment(folder.path())).value_or(0);
    if (number == 0) return;  // who submits it finds the request
  }
  const auto job = slurm.Job(number);
  if (!job) return;
  switch (job->phase()) {
    case JobPhase::kOver:
    case JobPhase::kEnding: return;  // its manager has gone
    case JobPhase::kRunning: return slurm.Signal(number, SIGTERM, SignalTarget::kScript);
    case JobPhase::kWaiting: break;
  }
  slurm.Cancel(number);
  Enter(folder, Phase::kCancelled, "cancelled by the user before its job began");
}

void ForgetBatchJob(const RunFolder& folder) {
  auto state = folder.ReadState();
  if (ReadBatchRecord(folder).job == 0 && state.batch_job == 0 && state.phase != Phase::kQueued) return;
  RemoveBatchRecord(folder);
  state.batch_job = 0;
  state.phase = Phase::kCreated;
  folder.WriteState(state);
}

void RequeueBatchJob(const RunState& state, Output& output) {
  const auto deadline = SystemClock().Steady() + kRequeuePatience;
  auto pause = std::chrono::seconds(1);
  while (true) {
    try {
      return SlurmClient().Requeue(state.batch_job);
    } catch (const SlurmError& error) {
      if (!MayPass(error.trouble()) || SystemClock().Steady() >= deadline) throw;
      output.Warn(fmt::format("job {} cannot be queued again yet: {}", state.batch_job, error.message()));
    }
    SystemClock().Sleep(pause);
    pause = std::min(2 * pause, kLongestRequeuePause);
  }
}

}  // namespace slipway::launcher
