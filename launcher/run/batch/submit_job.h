/// Submits one job to Slurm, at most once.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "launcher/cluster/batch_script.h"
#include "launcher/cluster/job_identity.h"
#include "launcher/cluster/partition_limits.h"
#include "launcher/cluster/slurm_client.h"

namespace slipway::launcher {

/// It is unknown whether the job exists. Slurm still carries out what it received before it stopped answering. The
/// controller's next answer may settle it.
class SubmissionInDoubt : public SlurmError {
 public:
  using SlurmError::SlurmError;
};

/// Of all partitions. Errors: SlurmError. Cost: a request to the controller.
std::vector<PartitionLimits> PartitionLimitsOf(const SlurmClient& slurm);

/// Writes the job's script, job.sh, into its directory. Errors: those of RenderBatchScript; SystemError.
void WriteScript(const BatchJob& job);

/// Submits the job, whose script WriteScript has written. Errors: SlurmError, which names the fields that Slurm calls
/// invalid, and what of the job is beyond a limit alone (kJobLimit), also an array of more tasks than the user may have
/// jobs: it would wait without end; SubmissionInDoubt.
JobIdentity SubmitJob(const SlurmClient& slurm, const BatchJob& job);

/// When the job would start if it were submitted now. Needs no file and submits nothing. Asks sbatch where SubmitJob
/// would. Errors: SlurmError, which names fields like SubmitJob; Error(kUsage) of RenderBatchScript.
StartEstimate EstimateStart(const SlurmClientOptions& slurm, const BatchJob& job);

/// Finds the job of the calling user with this comment that has not ended: after a lost answer a job may still exist.
/// An earlier job with the comment may still be ending. Of an array its number. Errors: SlurmError.
std::optional<JobIdentity> FindLiveJob(const SlurmClient& slurm, const std::string& comment,
                                       const std::filesystem::path& directory);

}  // namespace slipway::launcher
