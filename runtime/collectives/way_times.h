/// Measures the ways of shared memory among the ranks of a node, on this machine, now.
#pragma once

#include <vector>

#include "runtime/group/group.h"
#include "runtime/selection/measured_ways.h"

namespace slipway::runtime {

/// Times of messages of 1 KiB to 16 MiB, as FastestWays() takes them: the same on all ranks of the node.
///
/// The ways of a size take turns. The ranks rewrite their memory before each message, as a training step does. Larger
/// sizes are left out once `kEnough` has passed. Collective over the ranks of the node, which share memory.
/// Cost: 5 to 80 ms, 16 MiB of memory. Errors: RuntimeError: STALLED, MPI; MemoryError.
std::vector<WayTime> MeasureWays(Group& group);

}  // namespace slipway::runtime
