/// A batch job as libslurm is asked for it. Pure.
#pragma once

#include <string>
#include <vector>

#include "launcher/cluster/batch_script.h"
#include "launcher/cluster/partition_limits.h"
#include "launcher/cluster/slurm_types.h"

namespace slipway::launcher {

/// With the script that RenderBatchScript gives: libslurm does not read its `#SBATCH` lines, so that all they say is
/// said here, too, but for OptionsOnlyForSbatch.
/// Errors: those of RenderBatchScript.
SubmitRequest RequestOf(const BatchJob& job, std::vector<std::string> environment);

PartitionLimits LimitsOf(const SlurmPartition& partition);

}  // namespace slipway::launcher
