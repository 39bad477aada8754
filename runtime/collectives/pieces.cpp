#include "runtime/collectives/pieces.h"

#include <cstring>

namespace slipway::runtime {

Slice AlignedSlice(std::int64_t count, int parts, int index, std::size_t element) {
  const auto grain = static_cast<std::int64_t>(128 / element);
  const auto grains = SliceOf((count + grain - 1) / grain, parts, index);
  const auto first = std::min(count, grains.first * grain);
  return {first, std::min(count, grains.end() * grain) - first};
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
