/// Which batch job a run has.
#pragma once

#include <optional>
#include <string>

#include "launcher/cluster/slurm_client.h"
#include "launcher/cluster/slurm_types.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

/// The batch job that this process runs in: its number and its cluster; no job: none.
JobIdentity OwnBatchJob();

/// As it is written down in the run folder. Without a number nobody knows it, or there is none; its cluster is then the
/// one that the run was handed to.
JobIdentity JobOf(const RunFolder& folder, const RunState& state);

/// A job of the run that was submitted by this process: what of it leads back to the run.
JobIdentity SubmittedFor(const RunFolder& folder, JobId number, const std::string& cluster);

/// The one of this run that has not ended: an answer that did not come may be that of a job that was submitted all the
/// same. An earlier job of the run may still be ending. Errors: SlurmError.
std::optional<JobIdentity> FindSubmitted(const SlurmClient& slurm, const RunFolder& folder);

}  // namespace slipway::launcher
