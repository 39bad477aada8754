/// What the controller says of itself, its partitions and its nodes. One RPC each.
#pragma once

#include <vector>

#include "launcher/cluster/slurm_types.h"

namespace slipway::launcher {

/// Reads slurm.conf and asks munge, then the controllers, whether they are there: every other call of libslurm waits
/// for as long as messages may take, or for munge. First of all. Errors: SlurmError; without a configuration libslurm
/// ends the process.
void Connect();

SlurmCluster LoadCluster();
std::vector<SlurmPartition> LoadPartitions();
std::vector<SlurmNode> LoadNodes();

}  // namespace slipway::launcher
