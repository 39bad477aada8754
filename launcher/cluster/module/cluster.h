/// Information from the controller about itself, its partitions and its nodes. One RPC each.
#pragma once

#include <vector>

#include "launcher/cluster/slurm_types.h"

namespace slipway::launcher {

/// Reads slurm.conf, then checks munge and the controllers. Call it first: every other call of libslurm may wait for
/// munge, or for Slurm's message timeout. Errors: SlurmError. Without a configuration libslurm ends the process.
void Connect();

SlurmCluster LoadCluster();
std::vector<SlurmPartition> LoadPartitions();
std::vector<SlurmNode> LoadNodes();

}  // namespace slipway::launcher
