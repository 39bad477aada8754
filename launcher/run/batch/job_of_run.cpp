#include "launcher/run/batch/job_of_run.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include "core/environment.h"
#include "core/error.h"
#include "core/lines.h"
#include "launcher/plan/batch_plan.h"
#include "launcher/run/batch/batch_record.h"
#include "launcher/run/batch/submit_job.h"

namespace slipway::launcher {

/// Of an array the number of the whole, with the task: the number of the job that Slurm makes for its last task is that
/// of the array, too.
JobIdentity OwnBatchJob() {
  JobIdentity own;
  const auto number = [](const char* name) { return ParseNumber<std::uint32_t>(Variable(name)); };
  const auto array = number("SLURM_ARRAY_JOB_ID");
  own.task = array ? number("SLURM_ARRAY_TASK_ID") : std::nullopt;
  own.id = (own.task ? array : number("SLURM_JOB_ID")).value_or(0);
  if (own.id != 0) own.cluster = Variable("SLURM_CLUSTER_NAME");
  return own;
}

std::uint32_t OwnerOfJobs(const RunFolder& folder) {
  struct stat info {};
  CheckErrno(::stat(folder.path().c_str(), &info), fmt::format("cannot look at '{}'", folder.path().string()));
  return info.st_uid;
}

/// The number is in the state once the manager has begun, and in the record before. It is the manager's that counts:
/// after a lost answer there may be two jobs.
JobIdentity JobOf(const RunFolder& folder, const RunState& state) {
  auto job = ReadBatchRecord(folder.path()).job;
  if (state.batch_job != 0) job.id = state.batch_job;
  if (state.batch_job != 0) job.task = state.batch_task;
  if (!state.batch_cluster.empty()) job.cluster = state.batch_cluster;
  if (job.comment.empty()) job.comment = JobComment(folder.path());
  job.work_dir = folder.path();
  return job;
}

std::optional<JobIdentity> FindSubmitted(const SlurmClient& slurm, const RunFolder& folder) {
  return FindLiveJob(slurm, JobComment(folder.path()), folder.path());
}

}  // namespace slipway::launcher
