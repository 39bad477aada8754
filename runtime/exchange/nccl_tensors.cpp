#include "runtime/exchange/nccl_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/group/agreement.h"

namespace slipway::runtime {
namespace {

void RequireKnown(std::span<const TensorInfo> tensors, slipway_op op) {
  for (const auto& tensor : tensors) {
    if (tensor.count() == 0 || Nccl::Knows(tensor.dtype, op)) continue;
    throw RuntimeError(SLIPWAY_ERROR_ARGUMENT,
                       fmt::format("tensor '{}' of {} is not for NCCL, which takes sums and means of floats: set "
                                   "gpu_exchange to auto",
                                   tensor.name, NameOf(tensor.dtype)));
  }
}

}  // namespace

// Between all ranks.

std::unique_ptr<NcclTensors> NcclTensors::Make(const DevicePlace& place, std::span<const TensorInfo> tensors,
                                               const TeamSettings& settings, Group& group) {
  RequireKnown(tensors, settings.op);
  auto ranks = NcclRanks::Connect(place, group.communicator(), settings.gpu_exchange);
  std::unique_ptr<NcclTensors> made;
  OnAllRanks(group.communicator(),
             [&] { made.reset(new NcclTensors(place, tensors, settings.op, group, std::move(ranks))); });
  return made;
}

NcclTensors::NcclTensors(const DevicePlace& place, std::span<const TensorInfo> tensors, slipway_op op, Group& group,
                         std::unique_ptr<NcclRanks> ranks)
    : CombinedTensors(place, tensors), op_(op), group_(group), ranks_(std::move(ranks)) {}

void NcclTensors::SetBuckets(std::span<const BucketPlan> plans) {
  buckets_ = JoinBuckets(*place().driver, plans, values(), op_, group_.communicator());
}

void NcclTensors::Combine(std::size_t bucket, Group& group) {
  const auto& [call, pieces] = buckets_[bucket];
  group.Meet(call);
  const InContext here(place());
  ranks_->AllReduce(pieces, call.reduction, sums().handle());
  done().Record(sums().handle());
  ranks_->Await(done());
}

// Within nodes.

std::unique_ptr<NodeNcclTensors> NodeNcclTensors::Make(const DevicePlace& place, std::span<const TensorInfo> tensors,
                                                       const TeamSettings& settings, Group& group) {
  RequireKnown(tensors, settings.op);
  auto nodes = NcclInNodes::Connect(place, group, settings.gpu_exchange);
  std::unique_ptr<NodeNcclTensors> made;
  OnAllRanks(group.communicator(),
             [&] { made.reset(new NodeNcclTensors(place, tensors, settings.op, group, std::move(nodes))); });
  return made;
}

NodeNcclTensors::NodeNcclTensors(const DevicePlace& place, std::span<const TensorInfo> tensors, slipway_op op,
                                 Group& group, std::unique_ptr<NcclInNodes> nodes)
    : CombinedTensors(place, tensors), op_(op), group_(group), nodes_(std::move(nodes)) {}

void NodeNcclTensors::SetBuckets(std::span<const BucketPlan> plans) {
  buckets_ = JoinBuckets(*place().driver, plans, values(), op_, group_.communicator());
  std::int64_t most = 0;
  for (const auto& [call, pieces] : buckets_) {
    most = std::max(most, call.count * static_cast<std::int64_t>(SizeOf(call.reduction.dtype)));
  }
  nodes_->Reserve(most);
}

void NodeNcclTensors::Combine(std::size_t index, Group&) {
  const auto& [call, pieces] = buckets_[index];
  nodes_->Combine(pieces, call, sums(), done());
}

}  // namespace slipway::runtime
