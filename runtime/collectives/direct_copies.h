/// Allreduce among the ranks of one node in ordinary memory: the kernel copies between the ranks' memories.
#pragma once

#include "runtime/collectives/shared_memory.h"

namespace slipway::runtime {

/// After a Meet() before which all ranks have offered the only piece of the message. Each rank fetches its slice of all
/// others piece by piece, combines it in its caches, and stores the result at all others.
///
/// Result: false on all ranks when the kernel does not copy this memory (a device's, for example): nothing was changed.
/// Cost:   each rank moves 2N(P-1)/P bytes through the kernel, and N/P more. Three waits.
/// Errors: RuntimeError: ARGUMENT on all ranks when the kernel refuses a later piece; STALLED.
bool AllreduceDirectly(NodeChannel& channel, const SharedMessage& message);

}  // namespace slipway::runtime
