/// How fast pinned memory is copied to a GPU and back.
#pragma once

#include "launcher/cli/doctor/gpus.h"
#include "runtime/device/device_memory.h"

namespace slipway::launcher {

/// Fills in `copies`, or why there are none. Needs a driver with Driver::direct().
/// Cost: 64 MiB of the CPU and as much of the GPU; 16 copies, some 0.1 s over PCIe 3.
void MeasureCopies(const runtime::DevicePlace& place, GpuFacts& gpu);

}  // namespace slipway::launcher
