/// The batch job of a run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "launcher/cluster/slurm_client.h"
#include "launcher/cluster/slurm_types.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

/// The batch job of this process, or its task of an array: its number and its cluster; without a number there is none.
JobIdentity OwnBatchJob();

/// The job recorded in the run folder. Without a number it is unknown, or there is none. Then the cluster is the one
/// that the run was submitted to.
JobIdentity JobOf(const RunFolder& folder, const RunState& state);

/// The user whose jobs those of the run are: the owner of its folder. Errors: SystemError.
std::uint32_t OwnerOfJobs(const RunFolder& folder);

/// Finds the job of this run that has not ended: after a lost answer a job may still exist. An earlier job of the run
/// may still be ending. Errors: SlurmError.
std::optional<JobIdentity> FindSubmitted(const SlurmClient& slurm, const RunFolder& folder);

}  // namespace slipway::launcher
