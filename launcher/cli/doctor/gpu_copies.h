/// How fast pinned memory is copied to a GPU and back, how fast GPUs copy to each other, and whether all bytes arrive.
#pragma once

#include <utility>
#include <vector>

#include "launcher/cli/doctor/cuda_driver.h"
#include "launcher/cli/doctor/gpus.h"
#include "runtime/device/device_memory.h"
#include "runtime/device/driver.h"

namespace slipway::launcher {

/// Fills in `copies`, or why there are none. Needs a driver with Driver::direct().
/// Cost: 64 MiB of the CPU and as much of the GPU; 16 copies, some 0.1 s over PCIe 3.
void MeasureCopies(const runtime::DevicePlace& place, GpuFacts& gpu);

/// From each of the first eight GPUs to the next one, from the last to the first: only between GPUs that can be used
/// and reach each other. Pure.
std::vector<std::pair<int, int>> PairsToMeasure(const GpuExchangeFacts& facts);

/// Of these pairs. None where the driver does not know such copies. Needs a driver with Driver::memory().
/// Cost: 64 MiB of both GPUs and 128 MiB of the CPU at a time; of each pair six copies, an estimated 50 ms over PCIe 4.
/// The GPUs reach each other's memory from then on, for this process.
std::vector<PeerCopy> MeasurePeerCopies(const CudaDriver& cuda, const runtime::Driver& driver,
                                        const std::vector<std::pair<int, int>>& pairs);

}  // namespace slipway::launcher
