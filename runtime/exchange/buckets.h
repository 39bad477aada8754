/// Tensors put together into messages, in the order in which a backward pass makes them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/exchange/tensors.h"

namespace slipway::runtime {

/// Indices of tensors that travel together: one dtype.
struct BucketPlan {
  slipway_dtype dtype = SLIPWAY_FLOAT32;
  std::vector<int> tensors;
  std::int64_t count = 0;  ///< elements
};

/// The last tensors come first, as backward passes make them; each bucket is closed when it holds `bytes` or more.
/// A pure function of the list, so that all ranks agree. Empty tensors are left out.
std::vector<BucketPlan> PlanBuckets(std::span<const TensorInfo> tensors, std::int64_t bytes);

}  // namespace slipway::runtime
