/// Where every rank of a node has the pieces of a message.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/collectives/pieces.h"
#include "runtime/group/node_channel.h"
#include "runtime/group/point_to_point.h"
#include "runtime/memory/pool_memory.h"

namespace slipway::runtime {

struct SharedView {
  int ranks = 0;
  std::vector<char*> at;  ///< by piece, then by local rank

  char* const* Of(std::size_t piece) const { return at.data() + piece * static_cast<std::size_t>(ranks); }
};

/// Nothing when a piece of any rank lies in memory that the others cannot reach. Every rank must pass the same number
/// of pieces with the same counts. Collective.
std::optional<SharedView> MakeSharedView(NodeChannel& channel, Pieces pieces, std::size_t element,
                                         const SharedPool& pool, PointToPoint& node);

/// Pieces of one message that may lie elsewhere at each operation, on each rank in its own way.
class MovingPieces {
 public:
  /// Before Meet(): makes known where this rank has its pieces, `usual` being where they are expected. For Meet().
  SharedLocation Announce(Pieces pieces, std::size_t element, const SharedView& usual, const SharedPool& pool);
  /// After Meet(): changes `view` to where all ranks have theirs; the same answer on all. False: some cannot be
  /// reached.
  bool Find(NodeChannel& channel, SharedView& view) const;

 private:
  friend class PieceBoard;
  MovingPieces(std::vector<SharedLocation*> words, std::size_t count, int own)
      : words_(std::move(words)), count_(count), own_(own) {}
  SharedLocation* WordsOf(int local) const;

  std::vector<SharedLocation*> words_;  ///< by local rank: twice `count_`, as a rank may be one operation ahead
  std::size_t count_;
  int own_;
  std::size_t turn_ = 0;
};

/// Memory in which the ranks of a node tell each other where pieces are.
class PieceBoard {
 public:
  /// Null when a rank cannot reach that of another. Collective.
  static std::unique_ptr<PieceBoard> Make(NodeChannel& channel, std::size_t pieces, SharedPool& pool,
                                          PointToPoint& node);
  /// For the next message of `pieces` pieces.
  MovingPieces Next(std::size_t pieces);

 private:
  PieceBoard(PoolMemory memory, SharedView view, int own)
      : memory_(std::move(memory)), view_(std::move(view)), own_(own) {}

  PoolMemory memory_;
  SharedView view_;
  int own_;
  std::size_t given_ = 0;
};

}  // namespace slipway::runtime
