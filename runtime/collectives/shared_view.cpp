#include "runtime/collectives/shared_view.h"

#include <utility>

namespace slipway::runtime {

std::optional<SharedView> MakeSharedView(NodeChannel& channel, Pieces pieces, std::size_t element,
                                         const SharedPool& pool, PointToPoint& node) {
  std::vector<SharedLocation> own;
  for (const auto& piece : pieces) own.push_back(pool.Find(piece.data, BytesOf(piece.count, element)));
  SharedView view{channel.size(), std::vector<char*>(pieces.size() * static_cast<std::size_t>(channel.size()))};
  bool complete = true;
  for (int local = 0; local < channel.size(); ++local) {
    auto locations = own;
    node.Broadcast(local, locations.data(), locations.size() * sizeof(SharedLocation));
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      char* data = channel.Reach(local, locations[i]);
      view.at[i * static_cast<std::size_t>(channel.size()) + static_cast<std::size_t>(local)] = data;
      complete = complete && (data != nullptr || pieces[i].count == 0);
    }
  }
  if (!complete) return std::nullopt;
  return view;
}

SharedLocation* MovingPieces::WordsOf(int local) const {
  return words_[static_cast<std::size_t>(local)] + turn_ % 2 * count_;
}

SharedLocation MovingPieces::Announce(Pieces pieces, std::size_t element, const SharedView& usual,
                                      const SharedPool& pool) {
  ++turn_;
  bool moved = false;
  for (std::size_t i = 0; i < pieces.size(); ++i) moved = moved || pieces[i].data != usual.Of(i)[own_];
  if (!moved) return {};
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    WordsOf(own_)[i] = pool.Find(pieces[i].data, BytesOf(pieces[i].count, element));
  }
  return {1, 0};
}

bool MovingPieces::Find(NodeChannel& channel, SharedView& view) const {
  for (int local = 0; local < view.ranks; ++local) {
    if (channel.LocationOf(local).serial == 0) continue;
    for (std::size_t i = 0; i < count_; ++i) {
      char* data = channel.Reach(local, WordsOf(local)[i]);
      if (data == nullptr) return false;
      view.at[i * static_cast<std::size_t>(view.ranks) + static_cast<std::size_t>(local)] = data;
    }
  }
  return true;
}

std::unique_ptr<PieceBoard> PieceBoard::Make(NodeChannel& channel, std::size_t pieces, SharedPool& pool,
                                             PointToPoint& node) {
  const auto bytes = static_cast<std::int64_t>(2 * pieces * sizeof(SharedLocation));
  PoolMemory memory(pool, bytes);
  const Piece all{memory.data(), bytes};
  auto view = MakeSharedView(channel, {&all, 1}, 1, pool, node);
  if (!view) return nullptr;
  return std::unique_ptr<PieceBoard>(new PieceBoard(std::move(memory), std::move(*view), channel.rank()));
}

MovingPieces PieceBoard::Next(std::size_t pieces) {
  std::vector<SharedLocation*> words;
  for (int local = 0; local < view_.ranks; ++local) {
    words.push_back(reinterpret_cast<SharedLocation*>(view_.Of(0)[local]) + 2 * given_);
  }
  given_ += pieces;
  return {std::move(words), pieces, own_};
}

}  // namespace slipway::runtime
