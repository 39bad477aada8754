/// Replicas of a model: the same bits on every rank?
#pragma once

#include <span>

#include "runtime/exchange/tensors.h"

namespace slipway::runtime {

/// `tensors`: the same list on every rank (RequireSameCall). Collective.
///
/// Cost:   one pass over the memory; 8 bytes for each tensor are broadcast.
/// Errors: RuntimeError(MISMATCH) on all ranks, naming the first tensor that differs on any rank, and the lowest rank
///         where it does.
void CheckReplicas(std::span<const TensorInfo> tensors, Communicator& communicator);

}  // namespace slipway::runtime
