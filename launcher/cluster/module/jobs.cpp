#include "launcher/cluster/module/jobs.h"

#include <cstdlib>
#include <utility>

#include "launcher/cluster/module/library.h"

// Slurm's names of its reasons. They are in the library but not in its headers, and some versions have other words.
extern "C" __attribute__((weak)) char* slurm_job_reason_string(enum job_state_reason reason);

namespace slipway::launcher {
namespace {

constexpr std::pair<std::uint32_t, JobState> kNativeStates[] = {
    {JOB_PENDING, JobState::kPending},    {JOB_RUNNING, JobState::kRunning},     {JOB_SUSPENDED, JobState::kSuspended},
    {JOB_COMPLETE, JobState::kCompleted}, {JOB_CANCELLED, JobState::kCancelled}, {JOB_FAILED, JobState::kFailed},
    {JOB_TIMEOUT, JobState::kTimeout},    {JOB_NODE_FAIL, JobState::kNodeFail},  {JOB_PREEMPTED, JobState::kPreempted},
    {JOB_BOOT_FAIL, JobState::kBootFail}, {JOB_DEADLINE, JobState::kDeadline},   {JOB_OOM, JobState::kOutOfMemory},
};

constexpr std::pair<std::uint64_t, JobFlag> kNativeFlags[] = {
    {JOB_LAUNCH_FAILED, JobFlag::kLaunchFailed},
    {JOB_REQUEUE, JobFlag::kRequeue},
    {JOB_REQUEUE_HOLD, JobFlag::kRequeueHold},
    {JOB_SPECIAL_EXIT, JobFlag::kSpecialExit},
    {JOB_RESIZING, JobFlag::kResizing},
    {JOB_CONFIGURING, JobFlag::kConfiguring},
    {JOB_COMPLETING, JobFlag::kCompleting},
    {JOB_STOPPED, JobFlag::kStopped},
    {JOB_RECONFIG_FAIL, JobFlag::kReconfigFail},
    {JOB_POWER_UP_NODE, JobFlag::kPowerUpNode},
    {JOB_REVOKED, JobFlag::kRevoked},
    {JOB_REQUEUE_FED, JobFlag::kRequeueFederated},
    {JOB_RESV_DEL_HOLD, JobFlag::kReservationHold},
    {JOB_SIGNALING, JobFlag::kSignaling},
    {JOB_STAGE_OUT, JobFlag::kStageOut},
};

std::vector<JobFlag> FlagsOf(std::uint32_t job_state) {
  std::vector<JobFlag> flags;
  for (const auto& [bit, flag] : kNativeFlags) {
    if ((job_state & bit) != 0) flags.push_back(flag);
  }
  return flags;
}

std::string ReasonOf(const slurm_job_info_t& info) {
  if (slurm_job_reason_string == nullptr) return std::to_string(info.state_reason);
  return TextOf(slurm_job_reason_string(static_cast<enum job_state_reason>(info.state_reason)));
}

ExitStatus StatusOf(const slurm_job_info_t& info) {
  return info.exit_code == NO_VAL ? ExitStatus() : ExitStatus::FromWait(static_cast<int>(info.exit_code));
}

void CopyTexts(const slurm_job_info_t& info, SlurmJob& job) {
  job.name = TextOf(info.name);
  job.partition = TextOf(info.partition);
  job.account = TextOf(info.account);
  job.qos = TextOf(info.qos);
  job.reason_text = TextOf(info.state_desc);
  job.batch_host = TextOf(info.batch_host);
  job.comment = TextOf(info.comment);
  job.system_comment = TextOf(info.system_comment);
  job.admin_comment = TextOf(info.admin_comment);
  job.work_dir = TextOf(info.work_dir);
  job.output = TextOf(info.std_out);
  job.dependency = TextOf(info.dependency);
  job.burst_buffer = TextOf(info.burst_buffer);
  job.burst_buffer_state = TextOf(info.burst_buffer_state);
}

void CopyArray(const slurm_job_info_t& info, SlurmJob& job) {
  job.array_job = info.array_job_id;
  if (info.array_task_id != NO_VAL) job.array_tasks = std::to_string(info.array_task_id);
  if (info.array_task_str != nullptr) job.array_tasks = info.array_task_str;
}

std::vector<SlurmJob> Selected(const job_info_msg_t& message,
                               const std::function<bool(const slurm_job_info_t&)>& wanted) {
  std::vector<SlurmJob> jobs;
  for (std::uint32_t i = 0; i < message.record_count; ++i) {
    if (wanted(message.job_array[i])) jobs.push_back(JobFrom(message.job_array[i]));
  }
  return jobs;
}

template <class Load>
auto LoadJobs(Load load) {
  return LoadFromSlurm<job_info_msg_t, slurm_free_job_info_msg>("asking for jobs", load);
}

}  // namespace

JobState StateOf(std::uint32_t job_state) {
  for (const auto& [number, state] : kNativeStates) {
    if ((job_state & JOB_STATE_BASE) == number) return state;
  }
  throw SlurmError({SlurmTrouble::kVersion, 0, "a job is in state " + std::to_string(job_state), "reading jobs"});
}

std::vector<std::string> HostsOf(const char* ranges) {
  std::vector<std::string> hosts;
  if (ranges == nullptr) return hosts;
  auto* const list = slurm_hostlist_create(ranges);
  while (char* host = slurm_hostlist_shift(list)) {
    hosts.emplace_back(host);
    std::free(host);
  }
  slurm_hostlist_destroy(list);
  return hosts;
}

std::optional<SlurmTime> TimeOf(std::time_t time) {
  return time > 0 ? std::optional(SlurmTime(std::chrono::seconds(time))) : std::nullopt;
}

SlurmJob JobFrom(const slurm_job_info_t& info) {
  SlurmJob job;
  job.id = info.job_id;
  job.cluster = info.cluster != nullptr ? TextOf(info.cluster) : ClusterName();
  job.user = info.user_id;
  job.state = StateOf(info.job_state);
  job.flags = FlagsOf(info.job_state);
  job.reason = ReasonOf(info);
  job.exit_code = StatusOf(info).code;
  job.signal = StatusOf(info).signal;
  job.nodes = HostsOf(info.nodes);
  job.restarts = info.restart_cnt;
  job.priority = info.priority;
  job.time_limit_minutes = info.time_limit >= NO_VAL ? 0 : static_cast<int>(info.time_limit);
  job.submitted = TimeOf(info.submit_time);
  job.start = TimeOf(info.start_time);
  job.end = TimeOf(info.end_time);
  job.requeue = info.requeue == 1;
  job.preempted = info.preempt_time > 0;
  CopyArray(info, job);
  CopyTexts(info, job);
  return job;
}

std::vector<SlurmJob> JobsOfUser(std::uint32_t user, const std::function<bool(const slurm_job_info_t&)>& wanted) {
  const auto message = LoadJobs([&](job_info_msg_t** out) { return slurm_load_job_user(out, user, SHOW_ALL); });
  return Selected(*message, wanted);
}

std::vector<SlurmJob> AllJobs(const std::function<bool(const slurm_job_info_t&)>& wanted) {
  const auto message = LoadJobs([](job_info_msg_t** out) { return slurm_load_jobs(0, out, SHOW_ALL); });
  return Selected(*message, wanted);
}

std::vector<SlurmJob> JobsOfNumber(JobId id) {
  try {
    const auto message = LoadJobs([&](job_info_msg_t** out) { return slurm_load_job(out, id, SHOW_ALL); });
    return Selected(*message, [](const slurm_job_info_t&) { return true; });
  } catch (const SlurmError& error) {
    if (error.trouble() == SlurmTrouble::kUnknownJob) return {};
    throw;
  }
}

}  // namespace slipway::launcher
