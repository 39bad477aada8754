// Each member sends to the next one and receives from the one before. In step s of the reduce-scatter the slice that
// started s places behind arrives, is combined and goes on; after n-1 steps each member holds one slice complete.

#include <algorithm>

#include "runtime/collectives/between_ranks.h"
#include "runtime/collectives/ring_parts.h"
#include "runtime/memory/scratch.h"

namespace slipway::runtime {
namespace {

/// Elements of a slice are combined while the rest is still on its way. The size is less than 64 KiB: Open MPI sends
/// more over TCP only after an answer. The answer would queue behind the data of the other direction, and leave both
/// directions idle in turns.
constexpr std::int64_t kSegmentBytes = 56 * 1024;

/// Calls `action(first, bytes)` for each segment of so many bytes.
template <class Action>
void ForEachSegment(std::size_t bytes, Action action) {
  for (std::size_t first = 0; first < bytes; first += kSegmentBytes) {
    action(first, std::min<std::size_t>(kSegmentBytes, bytes - first));
  }
}

class ReduceScatter {
 public:
  ReduceScatter(char* data, std::span<const Slice> slices, const Reduction& reduction, const Ring& ring,
                PointToPoint& members)
      : data_(data),
        slices_(slices),
        reduction_(reduction),
        ring_(ring),
        members_(members),
        other_(Bytes(Longest(slices))) {}

  void Run() {
    // Slice i ends at the member with place i: it starts its way at place i+1.
    for (int step = 0; step + 1 < ring_.size(); ++step) {
      Step(slices_[static_cast<std::size_t>(ring_.Behind(step + 1))],
           slices_[static_cast<std::size_t>(ring_.Behind(step + 2))]);
    }
  }

 private:
  std::size_t Bytes(std::int64_t count) const { return BytesOf(count, SizeOf(reduction_.dtype)); }

  static std::int64_t Longest(std::span<const Slice> slices) {
    std::int64_t longest = 0;
    for (const auto& slice : slices) longest = std::max(longest, slice.count);
    return longest;
  }

  void Step(Slice out, Slice in) {
    struct Arriving {
      std::size_t started;
      std::size_t first;
      std::size_t bytes;
    };
    std::vector<Arriving> arriving;
    ForEachSegment(Bytes(in.count), [&](std::size_t first, std::size_t bytes) {
      arriving.push_back({members_.StartReceive(ring_.previous(), other_.data() + first, bytes), first, bytes});
    });
    ForEachSegment(Bytes(out.count), [&](std::size_t first, std::size_t bytes) {
      members_.StartSend(ring_.next(), data_ + Bytes(out.first) + first, bytes);
    });
    for (const auto& segment : arriving) {
      members_.Finish(segment.started);
      char* own = data_ + Bytes(in.first) + segment.first;
      const auto count = static_cast<std::int64_t>(segment.bytes / SizeOf(reduction_.dtype));
      Combine(reduction_, other_.data() + segment.first, own, own, count);  // what came has the longer way behind it
    }
    members_.FinishStep();
  }

  char* data_;
  std::span<const Slice> slices_;
  const Reduction& reduction_;
  const Ring& ring_;
  PointToPoint& members_;
  Scratch other_;
};

}  // namespace

void RingReduceScatter(char* data, std::span<const Slice> slices, const Reduction& reduction, const Ring& ring,
                       PointToPoint& members) {
  ReduceScatter(data, slices, reduction, ring, members).Run();
}

void RingAllgather(char* data, std::span<const Slice> slices, std::size_t element, const Ring& ring,
                   PointToPoint& members) {
  const auto bytes = [element](std::int64_t count) { return BytesOf(count, element); };
  for (int step = 0; step + 1 < ring.size(); ++step) {
    const auto& out = slices[static_cast<std::size_t>(ring.Behind(step))];
    const auto& in = slices[static_cast<std::size_t>(ring.Behind(step + 1))];
    ForEachSegment(bytes(in.count), [&](std::size_t first, std::size_t count) {
      members.StartReceive(ring.previous(), data + bytes(in.first) + first, count);
    });
    ForEachSegment(bytes(out.count), [&](std::size_t first, std::size_t count) {
      members.StartSend(ring.next(), data + bytes(out.first) + first, count);
    });
    members.FinishStep();
  }
}

void AllreduceByRing(void* data, std::int64_t count, const Reduction& reduction, PointToPoint& members) {
  Ring ring{{}, members.rank()};
  for (int member = 0; member < members.size(); ++member) ring.members.push_back(member);
  const auto slices = SlicesOf(count, members.size());
  auto* first = static_cast<char*>(data);
  const auto element = SizeOf(reduction.dtype);
  RingReduceScatter(first, slices, reduction, ring, members);
  const auto& own = slices[static_cast<std::size_t>(ring.place)];
  Finish(reduction, first + BytesOf(own.first, element), own.count, members.size());
  RingAllgather(first, slices, element, ring, members);
}

}  // namespace slipway::runtime
