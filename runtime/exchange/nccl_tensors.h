/// Tensors that NCCL combines.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "runtime/exchange/combined_tensors.h"
#include "runtime/exchange/nccl_in_nodes.h"
#include "runtime/exchange/nccl_ranks.h"

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

/// NCCL within each node, and the CPU between nodes.
class NodeNcclTensors : public CombinedTensors {
 public:
  /// As NcclTensors::Make(), of a group that NcclInNodes suits.
  static std::unique_ptr<NodeNcclTensors> Make(const DevicePlace& place, std::span<const TensorInfo> tensors,
                                               const TeamSettings& settings, Group& group);

  void SetBuckets(std::span<const BucketPlan> plans) override;
  void Combine(std::size_t bucket, Group& group) override;
  CombineWay way() const override { return CombineWay::kNcclInNodes; }
  bool MapsMemory() const override { return false; }
  bool HasBitsOfCpu() const override { return false; }

 private:
  NodeNcclTensors(const DevicePlace& place, std::span<const TensorInfo> tensors, slipway_op op, Group& group,
                  std::unique_ptr<NcclInNodes> nodes);

  slipway_op op_;
  Group& group_;
  std::unique_ptr<NcclInNodes> nodes_;
  std::vector<JoinedBucket> buckets_;
};

}  // namespace slipway::runtime
