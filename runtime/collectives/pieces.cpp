#include "runtime/collectives/pieces.h"

#include <cstring>
#include <utility>

namespace slipway::runtime {

Slice AlignedSlice(std::int64_t count, int parts, int index, std::size_t element) {
  const auto grain = static_cast<std::int64_t>(128 / element);
  const auto grains = SliceOf((count + grain - 1) / grain, parts, index);
  const auto first = std::min(count, grains.first * grain);
  return {first, std::min(count, grains.end() * grain) - first};
}

MessageParts::MessageParts(std::vector<Slice> slices, std::int64_t most) : slices_(std::move(slices)) {
  const auto shortest = std::ranges::min(slices_, {}, &Slice::count).count;
  share_ = std::max<std::int64_t>(1, most / static_cast<std::int64_t>(slices_.size()));
  size_ = std::max<std::int64_t>(1, (shortest + share_ - 1) / share_);
  longest_ = std::max(CountOf(0), CountOf(size_ - 1));
}

std::vector<Slice> MessageParts::Of(std::int64_t part) const {
  std::vector<Slice> shares;
  for (const auto& slice : slices_) {
    const auto before = part * share_;
    const Slice share{slice.first + before, part + 1 < size_ ? share_ : slice.count - before};
    if (!shares.empty() && shares.back().end() == share.first) {
      shares.back().count += share.count;
    } else {
      shares.push_back(share);
    }
  }
  return shares;
}

std::int64_t MessageParts::CountOf(std::int64_t part) const {
  std::int64_t count = 0;
  for (const auto& share : Of(part)) count += share.count;
  return count;
}

void Gather(Pieces pieces, Slice slice, std::size_t element, char* to) {
  ForEachPart(pieces, slice, [&](const Part& part) {
    std::memcpy(to + BytesOf(part.done, element), pieces[part.piece].data + BytesOf(part.offset, element),
                BytesOf(part.count, element));
  });
}

void Scatter(Pieces pieces, Slice slice, std::size_t element, const char* from) {
  ForEachPart(pieces, slice, [&](const Part& part) {
    std::memcpy(pieces[part.piece].data + BytesOf(part.offset, element), from + BytesOf(part.done, element),
                BytesOf(part.count, element));
  });
}

}  // namespace slipway::runtime
