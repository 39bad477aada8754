/// The cores of a job on this node, and whether the job owns them.
#pragma once

#include <filesystem>
#include <vector>

namespace slipway::launcher {

struct NodeCores {
  std::vector<int> cores;  ///< neighbours are adjacent: threads of a core, cores of a socket
  /// No other job runs on them. False where Slurm neither confines its jobs nor gave this one the whole node. Then it
  /// is unknown which cores belong to which job.
  bool own = true;
};

/// The cores of a job. `usable`: the cores that its process may run on, neighbours adjacent. `given`: the CPUs that
/// Slurm gave it, 0 when unknown. `threads`: the threads of a core, which Slurm may count as one CPU. Pure.
NodeCores CoresOfJob(std::vector<int> usable, std::size_t given, std::size_t threads);

/// The cores of this process. Cost: three small files of the kernel for each core.
NodeCores CoresOfThisNode();

struct Neighbours {
  std::vector<int> cores;   ///< side by side
  std::size_t threads = 1;  ///< the largest number of threads of one core
};

/// Orders cores by the topology in `folder`; cores without an entry there by number.
Neighbours LookAtNeighbours(const std::vector<int>& cores,
                            const std::filesystem::path& folder = "/sys/devices/system/cpu");

}  // namespace slipway::launcher
