/// Tensors that NCCL combines.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "runtime/exchange/combined_tensors.h"
#include "runtime/exchange/nccl_ranks.h"
#include "runtime/memory/pool_memory.h"

namespace slipway::runtime {

/// NCCL between all ranks.
class NcclTensors : public CombinedTensors {
 public:
  /// Collective. Errors: those of NcclRanks::Connect(); RuntimeError(ARGUMENT) for tensors that NCCL cannot add up as
  /// `settings.op` says.
  static std::unique_ptr<NcclTensors> Make(const DevicePlace& place, std::span<const TensorInfo> tensors,
                                           const TeamSettings& settings, Group& group);

  void SetBuckets(std::span<const BucketPlan> plans) override;
  void Combine(std::size_t bucket, Group& group) override;
  CombineWay way() const override { return CombineWay::kNccl; }
  bool MapsMemory() const override { return false; }
  bool HasBitsOfCpu() const override { return false; }

 private:
  NcclTensors(const DevicePlace& place, std::span<const TensorInfo> tensors, slipway_op op, Group& group,
              std::unique_ptr<NcclRanks> ranks);

  slipway_op op_;
  Group& group_;
  std::unique_ptr<NcclRanks> ranks_;
  std::vector<JoinedBucket> buckets_;
};

/// NCCL within each node, and the allreduce of the CPU between nodes: each rank carries a share of its node's sums.
class NodeNcclTensors : public CombinedTensors {
 public:
  /// Nothing but several nodes with as many ranks each, several and with shared memory, can use it.
  static bool Suits(const Group& group);
  /// As NcclTensors::Make(), of a group that it suits.
  static std::unique_ptr<NodeNcclTensors> Make(const DevicePlace& place, std::span<const TensorInfo> tensors,
                                               const TeamSettings& settings, Group& group);

  void SetBuckets(std::span<const BucketPlan> plans) override;
  void Combine(std::size_t bucket, Group& group) override;
  CombineWay way() const override { return CombineWay::kNcclInNodes; }
  bool MapsMemory() const override { return false; }
  bool HasBitsOfCpu() const override { return false; }

 private:
  /// The share of a bucket on its way between the nodes.
  struct Travel {
    Travel(const DevicePlace& place, std::int64_t block_bytes, std::int64_t image_bytes, SharedPool& pool);

    DeviceBlock block;
    PoolMemory image;
    PinnedRange pinned;
  };
  NodeNcclTensors(const DevicePlace& place, std::span<const TensorInfo> tensors, slipway_op op, Group& group);
  void Connect(GpuExchange asked);
  std::int64_t ShareOf(const JoinedBucket& bucket) const;
  void ScatterSums(const JoinedBucket& bucket);
  void GatherResult(const JoinedBucket& bucket);
  void AwaitWork();

  slipway_op op_;
  Group& group_;
  std::unique_ptr<Communicator> node_;
  std::unique_ptr<Group> peers_;  ///< the rank with the same place on each node
  std::unique_ptr<NcclRanks> ranks_;
  std::vector<JoinedBucket> buckets_;
  std::unique_ptr<Travel> travel_;
};

}  // namespace slipway::runtime
