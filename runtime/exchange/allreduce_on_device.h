/// Allreduce of memory of a GPU.
#pragma once

#include <cstdint>

#include "runtime/device/workbench.h"
#include "runtime/group/group.h"
#include "runtime/reduction/reduction.h"

namespace slipway::runtime {

/// Whether the bits of an allreduce of up to `bytes` bytes do not depend on how it is divided into messages.
bool SplitsFreely(const Group& group, std::int64_t bytes);

/// Combines `count` elements on a device over all ranks, in place, after what `stream` was given so far; later work of
/// `stream` finds the result. Collective.
///
/// Way:    parts of 2 MiB, where the bits allow it: while one is combined, the next ones travel to the CPU and earlier
///         ones back.
/// Memory: four parts, or the whole message.
/// Errors: as Allreduce(); DeviceError.
void AllreduceOnDevice(const DevicePlace& place, void* data, std::int64_t count, const Reduction& reduction,
                       Group& group, Workbenches& benches, StreamHandle stream);

}  // namespace slipway::runtime
