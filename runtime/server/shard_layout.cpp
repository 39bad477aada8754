#include "runtime/server/shard_layout.h"

#include <cstring>

#include "runtime/collectives/pieces.h"
#include "runtime/reduction/reduction.h"

namespace slipway::runtime {
namespace {

constexpr std::size_t kBoundary = 64;

/// Calls `copy(in the tensor, in the message, bytes)` for each part.
template <class Copy>
void ForEachCopy(const ShardLayout& layout, std::span<const TensorInfo> tensors, Copy copy) {
  for (const auto& part : layout.parts) {
    const auto element = SizeOf(part.dtype);
    copy(static_cast<char*>(tensors[part.tensor].data) + static_cast<std::size_t>(part.first) * element, part.at,
         static_cast<std::size_t>(part.count) * element);
  }
}

}  // namespace

ShardLayout LayoutOfShard(std::span<const TensorInfo> tensors, int ranks, int rank) {
  std::vector<Piece> pieces;
  for (const auto& tensor : tensors) pieces.push_back({nullptr, tensor.count()});
  ShardLayout layout;
  ForEachPart(pieces, SliceOf(CountOf(pieces), ranks, rank), [&](const Part& part) {
    const auto dtype = tensors[part.piece].dtype;
    layout.parts.push_back({part.piece, part.offset, part.count, dtype, layout.bytes});
    const auto bytes = static_cast<std::size_t>(part.count) * SizeOf(dtype);
    layout.bytes += (bytes + kBoundary - 1) / kBoundary * kBoundary;
  });
  return layout;
}

void GatherShard(const ShardLayout& layout, std::span<const TensorInfo> tensors, char* message) {
  ForEachCopy(layout, tensors,
              [&](const char* from, std::size_t at, std::size_t bytes) { std::memcpy(message + at, from, bytes); });
}

void ScatterShard(const ShardLayout& layout, const char* message, std::span<const TensorInfo> tensors) {
  ForEachCopy(layout, tensors,
              [&](char* to, std::size_t at, std::size_t bytes) { std::memcpy(to, message + at, bytes); });
}

}  // namespace slipway::runtime
