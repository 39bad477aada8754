/// A batch job as a request for libslurm. Pure.
#pragma once

#include <string>
#include <vector>

#include "launcher/cluster/batch_script.h"
#include "launcher/cluster/partition_limits.h"
#include "launcher/cluster/slurm_types.h"

namespace slipway::launcher {

/// Makes the request with the script of RenderBatchScript. libslurm does not read `#SBATCH` lines, so the request
/// repeats them, except OptionsOnlyForSbatch.
/// Errors: those of RenderBatchScript.
SubmitRequest RequestOf(const BatchJob& job, std::vector<std::string> environment);

PartitionLimits LimitsOf(const SlurmPartition& partition);

}  // namespace slipway::launcher
