/// Allreduce: one message, by the algorithm that the group's table names for its size.
#pragma once

#include "runtime/collectives/pieces.h"
#include "runtime/collectives/shared_memory.h"
#include "runtime/group/group.h"
#include "runtime/reduction/reduction.h"

namespace slipway::runtime {

/// Combines a message over all ranks of the group, in place. Collective; the same pieces' counts on every rank.
///
/// Result: the same bits on all ranks, and in every run with the same ranks, placement, table and sizes. With a
///         canonical selection the bits do not depend on the placement either. 16-bit floats are added in float32, and
///         rounded once within a node and once between nodes.
/// Errors: RuntimeError: MPI, STALLED, MISMATCH.
struct AllreduceMessage {
  Pieces pieces;
  Reduction reduction;
  std::uint32_t tag = 0;
  const SharedView* view = nullptr;
  MovingPieces* moving = nullptr;
};
void Allreduce(const AllreduceMessage& message, Group& group);

/// The same for one piece, by a named algorithm whatever the table says.
void AllreduceBy(const Choice& choice, const AllreduceMessage& message, Group& group);

}  // namespace slipway::runtime
