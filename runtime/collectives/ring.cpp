// Each member sends to the next one and receives from the one before. In step s of the reduce-scatter the slice that
// started s places behind arrives, is combined and goes on; after n-1 steps each member holds one slice complete.

#include <algorithm>

#include "runtime/collectives/between_ranks.h"
#include "runtime/collectives/ring_parts.h"
#include "runtime/memory/scratch.h"

namespace slipway::runtime {
namespace {

/// Elements of a slice are combined while the rest is still on its way.
constexpr std::int64_t kSegmentBytes = 256 * 1024;

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
  std::size_t Bytes(std::int64_t count) const { return static_cast<std::size_t>(count) * SizeOf(reduction_.dtype); }

  static std::int64_t Longest(std::span<const Slice> slices) {
    std::int64_t longest = 0;
    for (const auto& slice : slices) longest = std::max(longest, slice.count);
    return longest;
  }

  void Step(Slice out, Slice in) {
    const auto segment = kSegmentBytes / static_cast<std::int64_t>(SizeOf(reduction_.dtype));
    std::vector<std::size_t> arriving;
    for (std::int64_t done = 0; done < in.count; done += segment) {
      arriving.push_back(members_.StartReceive(ring_.previous(), other_.data() + Bytes(done),
                                               Bytes(std::min(segment, in.count - done))));
    }
    for (std::int64_t done = 0; done < out.count; done += segment) {
      members_.StartSend(ring_.next(), data_ + Bytes(out.first + done), Bytes(std::min(segment, out.count - done)));
    }
    std::int64_t done = 0;
    for (const auto started : arriving) {
      members_.Finish(started);
      const auto count = std::min(segment, in.count - done);
      char* own = data_ + Bytes(in.first + done);
      Combine(reduction_, other_.data() + Bytes(done), own, own, count);  // what came has the longer way behind it
      done += count;
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
  const auto bytes = [element](const Slice& slice) { return static_cast<std::size_t>(slice.count) * element; };
  const auto at = [&](const Slice& slice) { return data + static_cast<std::size_t>(slice.first) * element; };
  for (int step = 0; step + 1 < ring.size(); ++step) {
    const auto& out = slices[static_cast<std::size_t>(ring.Behind(step))];
    const auto& in = slices[static_cast<std::size_t>(ring.Behind(step + 1))];
    members.Exchange(ring.next(), at(out), bytes(out), ring.previous(), at(in), bytes(in));
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
  Finish(reduction, first + static_cast<std::size_t>(own.first) * element, own.count, members.size());
  RingAllgather(first, slices, element, ring, members);
}

}  // namespace slipway::runtime
