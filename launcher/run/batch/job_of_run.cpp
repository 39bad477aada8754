#include "launcher/run/batch/job_of_run.h"

#include <cstdlib>

#include "launcher/plan/batch_plan.h"
#include "launcher/run/batch/batch_record.h"
#include "launcher/run/batch/submit_job.h"

namespace slipway::launcher {

JobIdentity OwnBatchJob() {
  JobIdentity own;
  const char* job = std::getenv("SLURM_JOB_ID");
  if (job != nullptr) own.id = static_cast<JobId>(std::strtoul(job, nullptr, 10));
  const char* cluster = std::getenv("SLURM_CLUSTER_NAME");
  if (own.id != 0 && cluster != nullptr) own.cluster = cluster;
  return own;
}

/// The number is in the state once the manager has begun, and in the record before. It is the manager's that counts:
/// after a lost answer there may be two jobs.
JobIdentity JobOf(const RunFolder& folder, const RunState& state) {
  auto job = ReadBatchRecord(folder).job;
  if (state.batch_job != 0) job.id = state.batch_job;
  if (!state.batch_cluster.empty()) job.cluster = state.batch_cluster;
  if (job.comment.empty()) job.comment = JobComment(folder.path());
  job.work_dir = folder.path();
  return job;
}

std::optional<JobIdentity> FindSubmitted(const SlurmClient& slurm, const RunFolder& folder) {
  return FindLiveJob(slurm, JobComment(folder.path()), folder.path());
}

}  // namespace slipway::launcher
