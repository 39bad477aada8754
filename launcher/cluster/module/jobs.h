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

// What its numbers and texts mean, also where the accounting has them.
JobState StateOf(std::uint32_t job_state);
std::vector<std::string> HostsOf(const char* ranges);
std::optional<SlurmTime> TimeOf(std::time_t time);

/// Those of the jobs of `user` that the controller remembers and `wanted` takes; one RPC.
std::vector<SlurmJob> JobsOfUser(std::uint32_t user, const std::function<bool(const slurm_job_info_t&)>& wanted);

/// The job of this number, or the jobs of the array of this number; one RPC. None: the controller does not know it.
std::vector<SlurmJob> JobsOfNumber(JobId id);

/// The last job of this number, if it has ended; none also where the site keeps no such accounting. Its reasons, flags
/// and comment are not known. Cost: a connection and a question to slurmdbd, which may take as long as it likes.
/// Errors: SlurmError when slurmdbd does not answer.
std::vector<SlurmJob> PastJobsOfNumber(JobId id);

/// One RPC. The job gets the variables that it would get from sbatch (SLURM_SUBMIT_DIR, SLURM_NTASKS, ...); resource
/// limits are those of the nodes' slurmd, not of this process.
Submission Submit(SubmitRequest request);

}  // namespace slipway::launcher
