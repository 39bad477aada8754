#include "launcher/run/batch_run.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "launcher/engines/slurm/poll_interval.h"
#include "launcher/engines/slurm/slurm_client.h"
#include "launcher/plan/batch_plan.h"
#include "launcher/run/batch_state.h"
#include "launcher/run/submit_request.h"

namespace slipway::launcher {
namespace {

constexpr char kRecord[] = "batch_job.json";
constexpr auto kFolderInterval = std::chrono::seconds(1);

/// Only who submits writes this file, and only the manager writes state.json, which it may do before we know the
/// number.
void Record(const RunFolder& folder, JobId job) {
  const Json record{{"schema", "slipway.batch-job/1"}, {"job", job}};
  WriteFileAtomically(folder.path() / kRecord, record.dump() + "\n");
}

std::uint32_t RecordedJob(const RunFolder& folder) {
  const auto text = ReadFileIfPresent(folder.path() / kRecord);
  const auto record = text ? Json::parse(*text, nullptr, false) : Json();
  return record.is_object() ? record.value("job", std::uint32_t{0}) : 0;
}

/// The number is in the state once the manager has begun, and in the record before.
JobId JobOf(const RunFolder& folder, const RunState& state) {
  const auto recorded = RecordedJob(folder);
  return recorded != 0 ? recorded : state.batch_job;
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

/// An answer that did not come may be that of a job that was submitted all the same.
std::optional<JobId> FindSubmitted(const SlurmClient& slurm, const std::string& comment) {
  for (const auto& job : slurm.FindJobs(comment)) {
    if (job.phase() != JobPhase::kOver) return job.id;
  }
  return {};
}

JobId SubmitOrFind(const SlurmClient& slurm, const SubmitRequest& request) {
  try {
    return slurm.Submit(request).job;
  } catch (const SlurmError& error) {
    const bool unknown = error.trouble() == SlurmTrouble::kTimeout || error.trouble() == SlurmTrouble::kHelper;
    const auto found = unknown ? FindSubmitted(slurm, request.comment) : std::nullopt;
    if (!found) throw;
    return *found;
  }
}

void RequireFittingPartition(const SlurmClient& slurm, const BatchJob& job) {
  std::vector<PartitionLimits> limits;
  for (const auto& partition : slurm.Partitions()) limits.push_back(LimitsOf(partition));
  RequireAPartition(job, limits);
}

SubmitRequest Prepare(const RunFolder& folder, const Plan& plan, const BatchJob& job) {
  auto request = RequestOf(job, Environment::Inherited().entries());
  WriteFile(request.script_path, request.script, 0750);
  for (const auto& list : StageLists(plan, folder.path())) WriteFile(list.path, list.content);
  return request;
}

/// What directives bring into the buffer the manager would bring once more, into room that there is not.
void RefuseStagingByDirectives(const BatchJob& job) {
  if (job.staged_in.empty()) return;
  throw Error(ErrorKind::kEnvironment,
              "data that burst-buffer directives stage is not taken up by runs of this version",
              "write launch.slurm.burst_buffer.stage_in: false; the job then stages it into the buffer itself");
}

JobId Submit(const RunFolder& folder, const Plan& plan) {
  const auto job = MakeBatchJob(plan, folder.path());
  RefuseStagingByDirectives(job);
  const SlurmClient slurm;
  RequireFittingPartition(slurm, job);
  const auto request = Prepare(folder, plan, job);
  std::filesystem::remove(folder.path() / kRecord);  // of an earlier submission
  Enter(folder, Phase::kQueued, "");
  return SubmitOrFind(slurm, request);
}

/// Its number was never written down, and no job is of this run.
RunState Unsubmitted(RunState state) {
  if (state.host != HostName() || IsAlive(state.manager)) return state;  // it may be submitted at this moment
  state.phase = Phase::kLost;
  state.reason = fmt::format("it was not submitted; start it with: slipway resume {}", state.run);
  return state;
}

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
  try {
    const auto number = Submit(folder, plan);
    Record(folder, number);
    folder.AppendEvent("submitted", Json{{"job", number}});
    return number;
  } catch (const Error& error) {
    Enter(folder, Phase::kFailed, error.message());
    throw;
  }
}

bool IsInBatchSystem(const RunFolder& folder, const RunState& state) {
  return !HasEnded(state.phase) && (state.phase == Phase::kQueued || JobOf(folder, state) != 0);
}

RunState ObserveRun(const RunFolder& folder) {
  auto state = folder.ReadState();
  if (!IsInBatchSystem(folder, state)) return state;
  JobId number = JobOf(folder, state);
  try {
    const SlurmClient slurm;
    if (number == 0) number = FindSubmitted(slurm, JobComment(folder.path())).value_or(0);
    if (number == 0) return Unsubmitted(std::move(state));
    const auto job = slurm.Job(number);
    // A manager that has just written its last word is over, too: its word counts.
    state = folder.ReadState();
    state.batch_job = number;
    return WithJob(std::move(state), job);
  } catch (const SlurmError& error) {
    state.reason += fmt::format("{}what Slurm says about job {} is not known: {}", state.reason.empty() ? "" : "; ",
                                number, error.message());
    return state;
  }
}

std::optional<RunState> WaitForBatchEnd(const RunFolder& folder, std::optional<Seconds> limit) {
  const auto deadline = SystemClock().Steady() + std::chrono::duration_cast<std::chrono::nanoseconds>(
                                                     limit.value_or(std::chrono::hours(24 * 365)));
  Poll poll;
  while (true) {
    const auto asked = SystemClock().Steady();
    const bool asks = poll.IsDue();
    const auto state = asks ? ObserveRun(folder) : folder.ReadState();
    if (asks) poll.Took(state, asked);
    if (HasEnded(state.phase)) return state;
    const auto left = deadline - SystemClock().Steady();
    if (left <= std::chrono::nanoseconds(0)) return {};
    SystemClock().Sleep(std::min<std::chrono::nanoseconds>(left, kFolderInterval));
  }
}

void CancelBatchRun(const RunFolder& folder, const RunState& state) {
  const SlurmClient slurm;
  const auto number = JobOf(folder, state);
  const auto job = slurm.Job(number);
  if (!job || job->phase() == JobPhase::kOver) return;
  if (job->phase() != JobPhase::kWaiting) return slurm.Signal(number, SIGTERM, SignalTarget::kScript);
  slurm.Cancel(number);
  Enter(folder, Phase::kCancelled, "cancelled by the user before its job began");
}

void RequeueBatchJob(const RunState& state) { SlurmClient().Requeue(state.batch_job); }

}  // namespace slipway::launcher
