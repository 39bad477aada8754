/// Which GPU a rank uses, in a form that can be compared between ranks.
#pragma once

#include <span>
#include <vector>

#include "runtime/device/device_memory.h"

namespace slipway::runtime {

struct GpuOfRank {
  /// The boot ID of the kernel, which containers of a machine share and other machines do not have; without one,
  /// `host`.
  char machine[64] = {};
  char bus[32] = {};   ///< BusOf()
  char host[64] = {};  ///< for messages: a container may have its own, and machines the same
};

/// Errors: those of BusOf().
GpuOfRank GpuOfThisRank(const DevicePlace& place);

/// `gpus`: by rank. NCCL would say so to the ranks concerned alone, and not at all between containers.
/// Errors: RuntimeError(DEVICE) naming two ranks that share a GPU by their numbers in the job.
void RequireOwnGpus(std::span<const GpuOfRank> gpus, const std::vector<int>& job_ranks);

}  // namespace slipway::runtime
