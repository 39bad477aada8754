/// Which elements each rank serves: consecutive slices of all parameters, as equal as can be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/exchange/tensors.h"

namespace slipway::runtime {

/// Consecutive elements of one tensor, and where they lie in a message.
struct ShardPart {
  std::size_t tensor = 0;  ///< index
  std::int64_t first = 0;
  std::int64_t count = 0;
  slipway_dtype dtype = SLIPWAY_FLOAT32;
  std::size_t at = 0;  ///< byte in the message, on a boundary of 64

  bool operator==(const ShardPart&) const = default;
};

struct ShardLayout {
  std::vector<ShardPart> parts;
  std::size_t bytes = 0;  ///< of the message
};

/// Of the shard that `rank` of `ranks` serves; empty where there are fewer elements than ranks.
ShardLayout LayoutOfShard(std::span<const TensorInfo> tensors, int ranks, int rank);

/// Copies a shard's elements from the tensors to a message, and back. `tensors`: of the layout's shapes and dtypes.
void GatherShard(const ShardLayout& layout, std::span<const TensorInfo> tensors, char* message);
void ScatterShard(const ShardLayout& layout, const char* message, std::span<const TensorInfo> tensors);

}  // namespace slipway::runtime
