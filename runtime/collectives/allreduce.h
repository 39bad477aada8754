/// Allreduce: one message, by the algorithm that the group's table names for its size.
#pragma once

#include <cstdint>
#include <vector>

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
  std::int64_t whole = 0;  ///< of a part: elements of the message, which chooses the algorithm; 0: this is all of it
  CombineThreads* threads = nullptr;  ///< as of SharedMessage: for what comes from GPUs
};
void Allreduce(const AllreduceMessage& message, Group& group);

/// Slices of a message: within each, all elements are combined in the same order of the members. Empty: that is not
/// known.
std::vector<Slice> SlicesOfOneOrder(Algorithm algorithm, std::int64_t count, int members);

/// How a message of `count` elements may be exchanged in parts of about `bytes` bytes, with the bits of the whole: each
/// element stays in its slice of the algorithm, so it is combined in the same order. Parts are longer where messages of
/// that length would take longer for their number. One part where the order cannot be known (MPI's own algorithms).
/// The same on all ranks.
MessageParts PartsOf(std::int64_t count, const Reduction& reduction, std::int64_t bytes, Group& group);

/// The same for one piece, by a named algorithm whatever the table says.
void AllreduceBy(const Choice& choice, const AllreduceMessage& message, Group& group);

}  // namespace slipway::runtime
