#include "runtime/collectives/direct_copies.h"

#include <unistd.h>

#include <algorithm>

#include "runtime/memory/peer_copies.h"
#include "runtime/status.h"

namespace slipway::runtime {
namespace {

constexpr long kUsualCache = 1 << 20;
constexpr long kLeastPiece = 16 * 1024;

/// What is fetched from all others for one piece takes an eighth of the second-level cache.
std::int64_t PieceBytes(int ranks) {
  static const long cache = [] {
    const long size = ::sysconf(_SC_LEVEL2_CACHE_SIZE);
    return size > 0 ? size : kUsualCache;
  }();
  return std::max(kLeastPiece, cache / 8 / std::max(1, ranks - 1) / 4096 * 4096);
}

class DirectAllreduce {
 public:
  DirectAllreduce(NodeChannel& channel, const SharedMessage& message)
      : channel_(channel),
        reduction_(message.reduction),
        quotient_by_(message.quotient_by),
        element_(SizeOf(reduction_.dtype)),
        data_(message.pieces.front().data),
        own_(AlignedSlice(message.pieces.front().count, channel.size(), channel.rank(), element_)),
        piece_(PieceBytes(channel.size()) / static_cast<std::int64_t>(element_)),
        fetched_(channel.Workspace(static_cast<std::size_t>(channel.size()) * BytesOf(piece_, element_))) {
    for (int local = 0; local < channel.size(); ++local) places_.push_back(channel.OfferOf(local));
  }

  bool Run() {
    if (!channel_.AllAgree(Fetch(PieceAt(own_.first)))) return false;
    bool good = true;
    for (auto first = own_.first; first < own_.end() && good; first += piece_) {
      const auto piece = PieceAt(first);
      good = (first == own_.first || Fetch(piece)) && (Combine(piece), Store(piece));
    }
    if (channel_.AllAgree(good)) return true;
    throw RuntimeError(SLIPWAY_ERROR_ARGUMENT,
                       "the kernel copied only a part of this memory between ranks, so the message is damaged: "
                       "exchange other memory, or set SLIPWAY_ALGORITHMS=shared_copies_128k");
  }

 private:
  Slice PieceAt(std::int64_t first) const { return {first, std::min(piece_, own_.end() - first)}; }
  char* FetchedFrom(int local) const { return fetched_ + BytesOf(piece_, element_) * static_cast<std::size_t>(local); }
  PeerAddress PlaceOf(int local, Slice piece) const {
    const auto& start = places_[static_cast<std::size_t>(local)];
    return {start.process, start.address + BytesOf(piece.first, element_)};
  }

  template <class Copy>
  bool WithOthers(Slice piece, Copy copy) const {
    for (int local = 0; local < channel_.size() && piece.count > 0; ++local) {
      if (local != channel_.rank() && !copy(local)) return false;
    }
    return true;
  }

  bool Fetch(Slice piece) const {
    return WithOthers(piece, [&](int local) {
      return ReadFromPeer(PlaceOf(local, piece), FetchedFrom(local), BytesOf(piece.count, element_));
    });
  }

  void Combine(Slice piece) const {
    void* own = data_ + BytesOf(piece.first, element_);
    std::vector<const void*> inputs;
    for (int local = 0; local < channel_.size(); ++local) {
      inputs.push_back(local == channel_.rank() ? own : FetchedFrom(local));
    }
    CombineAll(reduction_, inputs.data(), channel_.size(), &own, 1, piece.count, quotient_by_);
  }

  bool Store(Slice piece) const {
    return WithOthers(piece, [&](int local) {
      return WriteToPeer(data_ + BytesOf(piece.first, element_), PlaceOf(local, piece), BytesOf(piece.count, element_));
    });
  }

  NodeChannel& channel_;
  Reduction reduction_;
  int quotient_by_;
  std::size_t element_;
  char* data_;
  Slice own_;
  std::int64_t piece_;
  char* fetched_;
  std::vector<PeerAddress> places_;
};

}  // namespace

bool AllreduceDirectly(NodeChannel& channel, const SharedMessage& message) {
  return DirectAllreduce(channel, message).Run();
}

}  // namespace slipway::runtime
