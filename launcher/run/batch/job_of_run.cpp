#include "launcher/run/batch/job_of_run.h"

#include <cstdlib>

#include "launcher/run/batch/batch_record.h"

namespace slipway::launcher {

JobId OwnBatchJob() {
  const char* job = std::getenv("SLURM_JOB_ID");
  return job != nullptr ? static_cast<JobId>(std::strtoul(job, nullptr, 10)) : 0;
}

/// The number is in the state once the manager has begun, and in the record before. It is the manager's that counts:
/// after a lost answer there may be two jobs.
JobId JobOf(const RunFolder& folder, const RunState& state) {
  return state.batch_job != 0 ? state.batch_job : ReadBatchRecord(folder).job;
}

std::optional<JobId> FindSubmitted(const SlurmClient& slurm, const std::string& comment) {
  for (const auto& job : slurm.FindJobs(comment)) {
    if (job.phase() == JobPhase::kWaiting || job.phase() == JobPhase::kRunning) return job.id;
  }
  return {};
}

}  // namespace slipway::launcher
