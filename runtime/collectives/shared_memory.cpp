#include "runtime/collectives/shared_memory.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "runtime/collectives/direct_copies.h"

namespace slipway::runtime {
namespace {

/// Of more ranks the calling thread combines alone: it allocates memory, where a helper could throw no error.
constexpr int kRanksOfHelpers = 64;

/// Up to so many bytes every rank combines everything by itself.
std::size_t TogetherUpTo(SharedWay way, const NodeChannel& channel) {
  if (way == SharedWay::kByRule) return channel.small_bytes();
  return way == SharedWay::kTogether ? NodeChannel::kSmall : 0;
}

std::size_t PieceBytes(SharedWay way, const NodeChannel& channel) {
  if (way == SharedWay::kCopies32K) return NodeChannel::kSmallPiece;
  return way == SharedWay::kCopies128K ? channel.slot_bytes() : channel.usual_piece();
}

/// Parts come from GPUs: they never meet a rank that brings the whole message at once, from memory of the CPU.
Call CallOf(const SharedMessage& message, Call::Kind kind) {
  if (message.whole > 0) return {kind, message.reduction, message.whole, message.tag, 1};
  return {kind, message.reduction, CountOf(message.pieces), message.tag};
}

/// One message on its way through a channel.
class SharedOperation {
 public:
  SharedOperation(NodeChannel& channel, const SharedMessage& message, const SharedPool& pool, Call::Kind kind)
      : channel_(channel),
        message_(message),
        pool_(pool),
        element_(SizeOf(message.reduction.dtype)),
        count_(CountOf(message.pieces)),
        call_(CallOf(message, kind)) {
    const bool asks = message.view == nullptr && message.pieces.size() == 1 && !small();
    const auto& first = message.pieces.front();
    // All ranks decide by what they read of each other.
    where_ = asks ? NodeChannel::Published(pool.Find(first.data, BytesOf(first.count, element_))) : SharedLocation();
    if (message.view != nullptr) view_ = *message.view;
  }

  bool small() const { return BytesOf(count_, element_) <= TogetherUpTo(message_.way, channel_); }
  /// Whether the kernel may copy it from where it is.
  bool direct() const {
    return message_.way == SharedWay::kDirect && channel_.direct_copies() && message_.pieces.size() == 1;
  }

  void AllreduceSmall() {
    Gather(message_.pieces, {0, count_}, element_, channel_.NextSmall());
    channel_.Meet(call_);
    const bool one_piece = message_.pieces.size() == 1;
    alignas(64) std::array<char, NodeChannel::kSmall> result;
    void* output = one_piece ? message_.pieces.front().data : result.data();
    CombineAll(message_.reduction, channel_.SmallOfAll(), channel_.size(), &output, 1, count_, message_.quotient_by);
    if (!one_piece) Scatter(message_.pieces, {0, count_}, element_, result.data());
  }

  /// Waits for all; true when all data can be reached.
  bool Meet() {
    if (direct()) channel_.Offer(message_.pieces.front().data);
    if (message_.moving != nullptr) where_ = message_.moving->Announce(message_.pieces, element_, view_, pool_);
    channel_.Meet(call_, where_);
    if (message_.view == nullptr) FindSinglePiece();
    if (message_.moving != nullptr && !message_.moving->Find(channel_, view_)) view_.ranks = 0;
    return view_.ranks > 0;
  }

  /// Combines this rank's slice of all buffers, into all of them or into the leader's only.
  void ReduceInPlace() {
    const auto slice = AlignedSlice(count_, channel_.size(), channel_.rank(), element_);
    auto* threads = channel_.size() <= kRanksOfHelpers ? message_.threads : nullptr;
    ForSlices(threads, slice.count, element_, [&](std::int64_t first, std::int64_t count) {
      CombineInPlace({slice.first + first, count});
    });
    channel_.Meet({});
  }

  void CopyFromLeader() {
    for (std::size_t i = 0; channel_.rank() != 0 && i < message_.pieces.size(); ++i) {
      if (message_.pieces[i].count == 0) continue;
      std::memcpy(message_.pieces[i].data, view_.Of(i)[0], BytesOf(message_.pieces[i].count, element_));
    }
    channel_.Meet({});
  }

  /// Copies the first round in, where it is certain that copies are needed. So meeting the others says that this is
  /// done, and there is one wait less.
  void CopyFirstIn() {
    if (!CopiesBeforeMeeting(where_)) return;
    GatherForOthers(0);
    first_is_in_ = true;
  }

  /// Copies in, combines and copies out, one after the other on each part, several parts at once on the way.
  void ReduceByCopies() {
    ForEachRound([&](std::int64_t round) {
      CopyIn(round);
      CombineRound(round - 1);
      CopyOut(round - 2);
    });
  }

  void BroadcastByCopies() {
    ForEachRound([&](std::int64_t round) {
      if (!Exists(round)) return;
      const auto piece = PieceOf(round);
      if (channel_.rank() == 0) {
        if (round >= NodeChannel::kSlots) channel_.Await(NodeChannel::kCopiedOut, piece - NodeChannel::kSlots);
        Gather(message_.pieces, Whole(round), element_, channel_.Slot(0, piece));
        channel_.Announce(NodeChannel::kCopiedIn, piece);
      } else {
        channel_.AwaitRank(0, NodeChannel::kCopiedIn, piece);
        Scatter(message_.pieces, Whole(round), element_, channel_.Slot(0, piece));
        channel_.Announce(NodeChannel::kCopiedOut, piece);
      }
    });
    // The slots are the leader's again.
    if (channel_.rank() == 0 && rounds_ > 0) channel_.Await(NodeChannel::kCopiedOut, channel_.next_piece() - 1);
  }

 private:
  /// How many ranks get the result, from the leader on: all, or it alone.
  int outputs() const { return call_.kind == Call::Kind::kReduce ? 1 : channel_.size(); }

  void FindSinglePiece() {
    if (message_.pieces.size() != 1) return;
    for (int local = 0; local < channel_.size(); ++local) {
      char* data = channel_.Reach(local, channel_.LocationOf(local));
      if (data == nullptr) return view_.at.clear();
      view_.at.push_back(data);
    }
    view_.ranks = channel_.size();
  }

  /// Also from several threads at a time, of at most kRanksOfHelpers ranks.
  void CombineInPlace(Slice slice) const {
    const int ranks = channel_.size();
    std::array<void*, kRanksOfHelpers> few{};
    std::vector<void*> many(static_cast<std::size_t>(ranks) > few.size() ? static_cast<std::size_t>(ranks) : 0);
    void** buffers = many.empty() ? few.data() : many.data();
    ForEachPart(message_.pieces, slice, [&](const Part& part) {
      for (int local = 0; local < ranks; ++local) {
        buffers[local] = view_.Of(part.piece)[local] + BytesOf(part.offset, element_);
      }
      CombineAll(message_.reduction, buffers, ranks, buffers, outputs(), part.count, message_.quotient_by);
    });
  }

  // A round moves `round_` elements; each rank combines its part of them.

  template <class Action>
  void ForEachRound(Action action) {
    rounds_ = (count_ + round_elements() - 1) / round_elements();
    for (std::int64_t round = 0; round < rounds_ + 2; ++round) action(round);
    channel_.PiecesDone(static_cast<std::uint64_t>(rounds_));
  }
  /// Of a short message two rounds, so that copying and combining overlap.
  std::int64_t round_elements() const {
    const auto half = count_ * static_cast<std::int64_t>(element_) / 2;
    const auto most = static_cast<std::int64_t>(PieceBytes(message_.way, channel_));
    const auto bytes = std::clamp<std::int64_t>(half, 8 * 1024, most);
    return bytes / static_cast<std::int64_t>(element_);
  }
  bool Exists(std::int64_t round) const { return round >= 0 && round < rounds_; }
  std::uint64_t PieceOf(std::int64_t round) const { return channel_.next_piece() + static_cast<std::uint64_t>(round); }
  Slice Whole(std::int64_t round) const {
    const auto first = round * round_elements();
    return {first, std::min(round_elements(), count_ - first)};
  }
  /// The part of a round that rank `local` combines, counted from the start of the round.
  Slice PartOf(std::int64_t round, int local) const {
    return AlignedSlice(Whole(round).count, channel_.size(), local, element_);
  }
  Slice Moved(Slice slice, std::int64_t by) const { return {slice.first + by, slice.count}; }

  /// Each rank's slot holds its data for the others; each other one replaces its part by the result. So a cache line
  /// moves only to the rank that combines it and back, never to a third one. A rank's slot is free again as soon as the
  /// rank has copied the results out.
  void CopyIn(std::int64_t round) {
    if (!Exists(round)) return;
    if (round > 0 || !first_is_in_) GatherForOthers(round);
    channel_.Announce(NodeChannel::kCopiedIn, PieceOf(round));
  }

  void GatherForOthers(std::int64_t round) {
    for (int local = 0; local < channel_.size(); ++local) {
      if (local == channel_.rank()) continue;
      const auto part = PartOf(round, local);
      Gather(message_.pieces, Moved(part, Whole(round).first), element_,
             channel_.Slot(channel_.rank(), PieceOf(round)) + BytesOf(part.first, element_));
    }
  }

  /// Whether the rank whose data lies at `where` copies its first round in before it meets the others.
  bool CopiesBeforeMeeting(SharedLocation where) const {
    return message_.view == nullptr && !direct() && where.serial == 0;
  }

  void AwaitCopiedIn(std::int64_t round) {
    for (int local = 0; local < channel_.size(); ++local) {
      if (round == 0 && CopiesBeforeMeeting(channel_.LocationOf(local))) continue;
      channel_.AwaitRank(local, NodeChannel::kCopiedIn, PieceOf(round));
    }
  }

  void CombineRound(std::int64_t round) {
    if (!Exists(round)) return;
    const auto piece = PieceOf(round);
    AwaitCopiedIn(round);
    const auto own = PartOf(round, channel_.rank());
    std::vector<void*> buffers(static_cast<std::size_t>(channel_.size()));
    ForEachPart(message_.pieces, Moved(own, Whole(round).first), [&](const Part& part) {
      for (int local = 0; local < channel_.size(); ++local) {
        buffers[static_cast<std::size_t>(local)] =
            channel_.Slot(local, piece) + BytesOf(own.first + part.done, element_);
      }
      buffers[static_cast<std::size_t>(channel_.rank())] =
          message_.pieces[part.piece].data + BytesOf(part.offset, element_);
      CombineAll(message_.reduction, buffers.data(), channel_.size(), buffers.data(), outputs(), part.count,
                 message_.quotient_by);
    });
    channel_.Announce(NodeChannel::kReduced, piece);
  }

  void CopyOut(std::int64_t round) {
    if (!Exists(round)) return;
    const auto piece = PieceOf(round);
    for (int local = 0; local < channel_.size(); ++local) {
      if (local == channel_.rank()) continue;
      channel_.AwaitRank(local, NodeChannel::kReduced, piece);
      if (channel_.rank() >= outputs()) continue;
      const auto part = PartOf(round, local);
      Scatter(message_.pieces, Moved(part, Whole(round).first), element_,
              channel_.Slot(channel_.rank(), piece) + BytesOf(part.first, element_));
    }
  }

  NodeChannel& channel_;
  const SharedMessage& message_;
  const SharedPool& pool_;
  std::size_t element_;
  std::int64_t count_;
  Call call_;
  SharedLocation where_;
  SharedView view_;
  std::int64_t rounds_ = 0;
  bool first_is_in_ = false;  ///< this rank's
};

}  // namespace

void SharedAllreduce(NodeChannel& channel, const SharedMessage& message, const SharedPool& pool) {
  SharedOperation operation(channel, message, pool, Call::Kind::kAllreduce);
  if (operation.small()) return operation.AllreduceSmall();
  operation.CopyFirstIn();
  if (operation.Meet()) return operation.ReduceInPlace();
  if (!operation.direct() || !AllreduceDirectly(channel, message)) operation.ReduceByCopies();
}

void SharedReduce(NodeChannel& channel, const SharedMessage& message, const SharedPool& pool) {
  auto sum = message;
  if (sum.reduction.op == SLIPWAY_MEAN) sum.reduction.op = SLIPWAY_SUM;
  SharedOperation operation(channel, sum, pool, Call::Kind::kReduce);
  operation.CopyFirstIn();
  operation.Meet() ? operation.ReduceInPlace() : operation.ReduceByCopies();
}

void SharedBroadcast(NodeChannel& channel, const SharedMessage& message, const SharedPool& pool) {
  SharedOperation operation(channel, message, pool, Call::Kind::kBroadcast);
  operation.Meet() ? operation.CopyFromLeader() : operation.BroadcastByCopies();
}

}  // namespace slipway::runtime
