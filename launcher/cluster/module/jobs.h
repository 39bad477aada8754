/// Jobs as libslurm shows them.
#pragma once

#include <slurm/slurm.h>

#include <ctime>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launcher/cluster/slurm_types.h"

namespace slipway::launcher {

SlurmJob JobFrom(const slurm_job_info_t& info);

// Conversions of its numbers and texts, also used for accounting records.
JobState StateOf(std::uint32_t job_state);
std::vector<std::string> HostsOf(const char* ranges);
std::optional<SlurmTime> TimeOf(std::time_t time);

/// The jobs of `user` that the controller remembers and that `wanted` accepts; one RPC.
std::vector<SlurmJob> JobsOfUser(std::uint32_t user, const std::function<bool(const slurm_job_info_t&)>& wanted);

/// The same of all users; one RPC, whose answer grows with the cluster.
std::vector<SlurmJob> AllJobs(const std::function<bool(const slurm_job_info_t&)>& wanted);

/// The job of this number, or all jobs of the array of this number; one RPC. Empty: the controller does not know it.
std::vector<SlurmJob> JobsOfNumber(JobId id);

/// The last job of each number, if it has ended, from the accounting. Empty also where the site keeps no such
/// accounting. Their reasons, flags and comments are unknown. Cost: a connection and a request to slurmdbd, without a
/// time limit.
/// Errors: SlurmError when slurmdbd does not answer.
std::vector<SlurmJob> PastJobsOf(const std::vector<JobId>& ids);

/// Submits the job; one RPC. The job gets the same variables as from sbatch (SLURM_SUBMIT_DIR, SLURM_NTASKS, ...). Its
/// resource limits are those of the nodes' slurmd, not of this process.
Submission Submit(SubmitRequest request);

/// When the job would start, as `sbatch --test-only` says; one RPC. The site's plugins look at it as at a submission.
StartEstimate EstimateStart(SubmitRequest request);

}  // namespace slipway::launcher
