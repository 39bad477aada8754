#include "runtime/exchange/buckets.h"

#include <map>

#include "runtime/reduction/reduction.h"

namespace slipway::runtime {

std::vector<BucketPlan> PlanBuckets(std::span<const TensorInfo> tensors, std::int64_t bytes) {
  std::vector<BucketPlan> closed;
  std::map<slipway_dtype, BucketPlan> open;
  for (auto index = static_cast<int>(tensors.size()) - 1; index >= 0; --index) {
    const auto& tensor = tensors[static_cast<std::size_t>(index)];
    if (tensor.count() == 0) continue;
    auto& bucket = open[tensor.dtype];
    bucket.dtype = tensor.dtype;
    bucket.tensors.push_back(index);
    bucket.count += tensor.count();
    if (bucket.count * static_cast<std::int64_t>(SizeOf(tensor.dtype)) < bytes) continue;
    closed.push_back(std::move(bucket));
    open.erase(tensor.dtype);
  }
  for (auto& [dtype, bucket] : open) closed.push_back(std::move(bucket));
  return closed;
}

}  // namespace slipway::runtime
