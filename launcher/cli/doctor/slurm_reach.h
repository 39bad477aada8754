/// Check "slurm": whether Slurm is installed and answers, and its configuration.
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
  std::optional<Captured> munge;           ///< outcome of `munge -n`; nothing: it is not installed
};

/// Cost: two requests to the controller, about 10 ms each; without an answer, the deadline of SlurmClient.
SlurmFacts ProbeSlurm();
/// Pure. Warns on a machine without Slurm; fails on one whose Slurm does not work.
Findings Judge(const SlurmFacts& facts);

}  // namespace slipway::launcher
