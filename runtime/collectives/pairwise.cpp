// In step k each member sends to the one k places ahead and receives from the one k places behind.

#include "runtime/collectives/pairwise.h"

#include <cstring>
#include <vector>

#include "runtime/collectives/between_ranks.h"
#include "runtime/memory/scratch.h"

namespace slipway::runtime {
namespace {

struct Partners {
  int ahead;
  int behind;
};

Partners PartnersIn(int step, const PointToPoint& members) {
  const int size = members.size();
  return {(members.rank() + step) % size, (members.rank() - step + size) % size};
}

/// All slices of `out` but the own one go to their members; theirs come to `in`.
void SwapSlices(const void* out, std::span<const Slice> out_slices, void* in, std::span<const Slice> in_slices,
                std::size_t element, PointToPoint& members) {
  const auto* from = static_cast<const char*>(out);
  auto* to = static_cast<char*>(in);
  for (int step = 1; step < members.size(); ++step) {
    const auto [ahead, behind] = PartnersIn(step, members);
    const auto& sent = out_slices[static_cast<std::size_t>(ahead)];
    const auto& received = in_slices[static_cast<std::size_t>(behind)];
    members.Exchange(ahead, from + BytesOf(sent.first, element), BytesOf(sent.count, element), behind,
                     to + BytesOf(received.first, element), BytesOf(received.count, element));
  }
}

}  // namespace

void PairwiseAlltoall(const void* out, std::span<const Slice> out_slices, void* in, std::span<const Slice> in_slices,
                      std::size_t element, PointToPoint& members) {
  const auto own = static_cast<std::size_t>(members.rank());
  if (out_slices[own].count > 0) {
    std::memmove(static_cast<char*>(in) + BytesOf(in_slices[own].first, element),
                 static_cast<const char*>(out) + BytesOf(out_slices[own].first, element),
                 BytesOf(out_slices[own].count, element));
  }
  SwapSlices(out, out_slices, in, in_slices, element, members);
}

void PairwiseReduceScatter(const void* data, void* result, std::span<const Slice> slices, const Reduction& reduction,
                           PointToPoint& members, int quotient_by) {
  const auto element = SizeOf(reduction.dtype);
  const auto own = slices[static_cast<std::size_t>(members.rank())];
  const auto places = SlicesOf(own.count * members.size(), members.size());
  Scratch all(BytesOf(own.count, element) * static_cast<std::size_t>(members.size()));
  SwapSlices(data, slices, all.data(), places, element, members);
  std::vector<const void*> inputs;
  for (const auto& place : places) inputs.push_back(all.data() + BytesOf(place.first, element));
  inputs[static_cast<std::size_t>(members.rank())] = static_cast<const char*>(data) + BytesOf(own.first, element);
  CombineAll(reduction, inputs.data(), members.size(), &result, 1, own.count, quotient_by);
}

void PairwiseAllgather(void* data, std::span<const Slice> slices, std::size_t element, PointToPoint& members) {
  auto* at = static_cast<char*>(data);
  const auto& own = slices[static_cast<std::size_t>(members.rank())];
  for (int step = 1; step < members.size(); ++step) {
    const auto [ahead, behind] = PartnersIn(step, members);
    const auto& received = slices[static_cast<std::size_t>(behind)];
    members.Exchange(ahead, at + BytesOf(own.first, element), BytesOf(own.count, element), behind,
                     at + BytesOf(received.first, element), BytesOf(received.count, element));
  }
}

void AllreducePairwise(void* data, std::int64_t count, const Reduction& reduction, PointToPoint& members) {
  const auto slices = SlicesOf(count, members.size());
  const auto element = SizeOf(reduction.dtype);
  char* own = static_cast<char*>(data) + BytesOf(slices[static_cast<std::size_t>(members.rank())].first, element);
  PairwiseReduceScatter(data, own, slices, reduction, members, members.size());
  PairwiseAllgather(data, slices, element, members);
}

}  // namespace slipway::runtime
