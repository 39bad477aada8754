/// Check "slurm": whether there is one, whether it answers us, and what it is.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "core/process.h"
#include "core/units.h"
#include "launcher/cli/doctor/finding.h"
#include "launcher/cluster/slurm_trouble.h"
#include "launcher/cluster/slurm_types.h"

namespace slipway::launcher {

struct SlurmFacts {
  std::optional<std::filesystem::path> conf;
  std::optional<SlurmCluster> cluster;     ///< when the controller has answered
  Seconds took{};                          ///< its answer
  std::vector<SlurmPartition> partitions;  ///< when it has answered
  std::optional<TroubleReport> trouble;    ///< when it has not
  std::optional<Captured> munge;           ///< what `munge -n` did; nothing where it is not installed
};

/// Cost: two questions to the controller, about 10 ms each; where nothing answers, the deadline of SlurmClient.
SlurmFacts ProbeSlurm();
/// Pure. A machine without Slurm has warnings, one whose Slurm is out of order has failed.
Findings Judge(const SlurmFacts& facts);

}  // namespace slipway::launcher
