#include "runtime/collectives/pieces.h"

#include <cstring>

namespace slipway::runtime {
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
