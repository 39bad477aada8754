/// Collectives among the ranks of one node, through shared memory.
///
/// Result: elements are combined in the order of the ranks, so the bits depend on their number alone.
/// Errors: RuntimeError: MISMATCH on all ranks, STALLED. docs/explanation/exchange.md, "Shared memory".
#pragma once

#include "runtime/collectives/shared_view.h"
#include "runtime/reduction/combine_threads.h"
#include "runtime/reduction/reduction.h"
#include "runtime/selection/algorithm_table.h"

namespace slipway::runtime {

/// A message and its place.
struct SharedMessage {
  Pieces pieces;
  Reduction reduction;
  std::uint32_t tag = 0;             ///< compared between the ranks
  int quotient_by = 1;               ///< of a mean
  const SharedView* view = nullptr;  ///< when known
  SharedWay way = SharedWay::kByRule;
  MovingPieces* moving = nullptr;  ///< with a view: pieces may lie elsewhere than there
  std::int64_t whole = 0;          ///< of a part: elements of the message, compared between the ranks; 0: it is no part
  CombineThreads* threads = nullptr;  ///< combine in memory that all ranks reach; null: the calling one
};

/// Allreduce in place, by one of four ways. All give the same bits:
/// - Small, as the message's way has it: every rank combines everything itself (one wait).
/// - In memory that all ranks reach: every rank combines its slice of all buffers and writes it to all. Two waits; each
///   of P ranks moves 2N bytes, none twice.
/// - kDirect, one piece, and the kernel permits it: AllreduceDirectly().
/// - Otherwise: copies through the channel, in a pipeline.
void SharedAllreduce(NodeChannel& channel, const SharedMessage& message, const SharedPool& pool);

/// Combines into the leader's memory (local rank 0), without the quotient of a mean. The other ranks' data is undefined
/// afterwards.
void SharedReduce(NodeChannel& channel, const SharedMessage& message, const SharedPool& pool);
/// Copies the leader's data to all ranks.
void SharedBroadcast(NodeChannel& channel, const SharedMessage& message, const SharedPool& pool);

}  // namespace slipway::runtime
