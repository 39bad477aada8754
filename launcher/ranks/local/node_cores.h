/// The cores that a job has on this node, and whether it has them for itself.
#pragma once

#include <filesystem>
#include <vector>

namespace slipway::launcher {

struct NodeCores {
  std::vector<int> cores;  ///< neighbours stand side by side: threads of a core, cores of a socket
  /// No other job runs on them. False where Slurm neither confines its jobs nor has given this one the whole node:
  /// nobody tells then which cores are whose.
  bool own = true;
};

/// What `usable` (the cores that a process may run on, neighbours side by side) means for a job that Slurm has given
/// `given` CPUs of a node, where it may count the `threads` of a core as one; `given` 0: Slurm does not say. Pure.
NodeCores CoresOfJob(std::vector<int> usable, std::size_t given, std::size_t threads);

/// Of this process. Cost: three small files of the kernel for each core.
NodeCores CoresOfThisNode();

struct Neighbours {
  std::vector<int> cores;   ///< side by side
  std::size_t threads = 1;  ///< the most of them that are one core
};

/// As the kernel describes them in `folder`; cores that it says nothing of by their numbers.
Neighbours LookAtNeighbours(const std::vector<int>& cores,
                            const std::filesystem::path& folder = "/sys/devices/system/cpu");

}  // namespace slipway::launcher
