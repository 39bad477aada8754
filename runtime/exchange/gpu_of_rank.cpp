#include "runtime/exchange/gpu_of_rank.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <string>

#include "core/boot_id.h"

namespace slipway::runtime {
namespace {

bool IsSame(const GpuOfRank& one, const GpuOfRank& other) {
  return std::strcmp(one.machine, other.machine) == 0 && std::strcmp(one.bus, other.bus) == 0;
}

}  // namespace

GpuOfRank GpuOfThisRank(const DevicePlace& place) {
  GpuOfRank own;
  ::gethostname(own.host, sizeof own.host - 1);
  const std::string machine = BootId().empty() ? own.host : BootId();
  machine.copy(own.machine, sizeof own.machine - 1);
  BusOf(place).copy(own.bus, sizeof own.bus - 1);
  return own;
}

void RequireOwnGpus(std::span<const GpuOfRank> gpus, const std::vector<int>& job_ranks) {
  for (std::size_t rank = 1; rank < gpus.size(); ++rank) {
    for (std::size_t other = 0; other < rank; ++other) {
      if (!IsSame(gpus[rank], gpus[other])) continue;
      throw RuntimeError(SLIPWAY_ERROR_DEVICE,
                         fmt::format("ranks {} and {} share GPU {} of {}, and NCCL needs one for each rank: set "
                                     "launch.gpus_per_rank to 1, or gpu_exchange to auto",
                                     job_ranks[other], job_ranks[rank], gpus[rank].bus, gpus[rank].host));
    }
  }
}

}  // namespace slipway::runtime
