/// How fast GPUs copy to each other, and whether all bytes arrive.
#pragma once

#include <utility>
#include <vector>

#include "launcher/cli/doctor/cuda_driver.h"
#include "launcher/cli/doctor/gpus.h"
#include "runtime/device/driver.h"

namespace slipway::launcher {

/// From each of the first eight GPUs to the next one, from the last to the first: only between GPUs that can be used
/// and reach each other. Pure.
std::vector<std::pair<int, int>> PairsToMeasure(const GpuExchangeFacts& facts);

/// Of these pairs. None where the driver does not know such copies. Needs a driver with Driver::memory().
/// Cost: 64 MiB of both GPUs and 128 MiB of the CPU at a time; of each pair six copies, an estimated 50 ms over PCIe 4.
/// The GPUs reach each other's memory from then on, for this process.
std::vector<PeerCopy> MeasurePeerCopies(const CudaDriver& cuda, const runtime::Driver& driver,
                                        const std::vector<std::pair<int, int>>& pairs);

}  // namespace slipway::launcher
