/// Allreduce of memory of a GPU by the CPU: the plain way, which every GPU and every reduction has.
#pragma once

#include <cstdint>

#include "runtime/device/workbench.h"
#include "runtime/group/group.h"
#include "runtime/reduction/reduction.h"

namespace slipway::runtime {

/// Whether the bits of an allreduce of up to `bytes` bytes do not depend on how it is divided into messages.
bool SplitsFreely(const Group& group, std::int64_t bytes);

/// Combines `count` elements on a device through the CPU's memory, in place: while one part is combined, the next ones
/// come and earlier ones go back (PartsOf). Later work of `stream` finds the result. Collective.
/// Errors: as Allreduce(); DeviceError before the ranks meet, and PartedError from then on.
void AllreduceThroughCpu(const DevicePlace& place, void* data, std::int64_t count, const Reduction& reduction,
                         Group& group, StreamHandle stream, Workbenches& benches);

/// How much of the bench's memory that takes.
std::int64_t BytesOfBench(std::int64_t count, const Reduction& reduction, Group& group);

}  // namespace slipway::runtime
