#include "runtime/collectives/pieces.h"

#include <cstring>

namespace slipway::runtime {
namespace {

std::size_t Bytes(std::int64_t count, std::size_t element) { return static_cast<std::size_t>(count) * element; }

}  // namespace

void Gather(Pieces pieces, Slice slice, std::size_t element, char* to) {
  ForEachPart(pieces, slice, [&](const Part& part) {
    std::memcpy(to + Bytes(part.done, element), pieces[part.piece].data + Bytes(part.offset, element),
                Bytes(part.count, element));
  });
}

void Scatter(Pieces pieces, Slice slice, std::size_t element, const char* from) {
  ForEachPart(pieces, slice, [&](const Part& part) {
    std::memcpy(pieces[part.piece].data + Bytes(part.offset, element), from + Bytes(part.done, element),
                Bytes(part.count, element));
  });
}

}  // namespace slipway::runtime
