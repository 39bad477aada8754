/// Collectives among the ranks of one node, through shared memory.
///
/// Result: elements are combined in the order of the ranks, so the bits depend on their number alone.
/// Errors: RuntimeError: MISMATCH on all ranks, STALLED. docs/explanation/exchange.md, "Shared memory".
#pragma once

#include <optional>
#include <vector>

#include "runtime/collectives/pieces.h"
#include "runtime/group/node_channel.h"
#include "runtime/group/point_to_point.h"
#include "runtime/reduction/reduction.h"

namespace slipway::runtime {

/// Where every rank of the node has each piece of a message.
struct SharedView {
  int ranks = 0;
  std::vector<char*> at;  ///< by piece, then by local rank

  char* const* Of(std::size_t piece) const { return at.data() + piece * static_cast<std::size_t>(ranks); }
};

/// Nothing when a piece of any rank lies in memory that the others cannot reach. The same number of pieces, of the same
/// counts, on every rank. Collective.
std::optional<SharedView> MakeSharedView(NodeChannel& channel, Pieces pieces, std::size_t element,
                                         const SharedPool& pool, PointToPoint& node);

/// What a message is, and where.
struct SharedMessage {
  Pieces pieces;
  Reduction reduction;
  std::uint32_t tag = 0;             ///< compared between the ranks
  int quotient_by = 1;               ///< of a mean
  const SharedView* view = nullptr;  ///< when known
};

/// In place. Up to NodeChannel::small_bytes(): every rank combines all itself (one wait). In memory that all reach:
/// every rank combines its slice of all buffers and writes it to all (two waits; 2N bytes moved by each of P ranks,
/// none twice). Else by copies through the channel, in a pipeline.
void SharedAllreduce(NodeChannel& channel, const SharedMessage& message, const SharedPool& pool);

/// The combination in the leader's memory (local rank 0), no quotient taken; the others' data is undefined after.
void SharedReduce(NodeChannel& channel, const SharedMessage& message, const SharedPool& pool);
/// The leader's data to all.
void SharedBroadcast(NodeChannel& channel, const SharedMessage& message, const SharedPool& pool);

}  // namespace slipway::runtime
