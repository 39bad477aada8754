/// Information from the controller about itself, its partitions, nodes and limits. One RPC each.
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
/// Of the calling user; empty where the controller keeps no accounts.
SubmitLimits LoadSubmitLimits();

}  // namespace slipway::launcher
