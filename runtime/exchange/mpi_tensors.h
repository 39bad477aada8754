/// Tensors that MPI combines where they lie.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/device/sum_kernel.h"
#include "runtime/exchange/combined_tensors.h"
#include "runtime/exchange/mpi_ranks.h"

namespace slipway::runtime {

/// MPI between all ranks: a bucket is one message. What has gaps between its tensors is copied to a block of the GPU,
/// and back.
class MpiTensors : public CombinedTensors {
 public:
  /// Collective. Errors: those of MpiRanks::Connect(); RuntimeError(ARGUMENT) for tensors that MPI cannot add up as
  /// `op` says; RuntimeError(DEVICE) for a mean on a GPU that cannot run the exchange's kernel.
  static std::unique_ptr<MpiTensors> Make(const DevicePlace& place, std::span<const TensorInfo> tensors, slipway_op op,
                                          Group& group);

  void SetBuckets(std::span<const BucketPlan> plans) override;
  void Combine(std::size_t bucket, Group& group) override;
  CombineWay way() const override { return CombineWay::kMpi; }
  bool MapsMemory() const override { return false; }
  bool HasBitsOfCpu() const override { return false; }

 private:
  struct Bucket {
    JoinedBucket joined;
    char* data = nullptr;           ///< its only piece, or the block
    std::optional<SumTable> whole;  ///< of a mean
  };
  MpiTensors(const DevicePlace& place, std::span<const TensorInfo> tensors, slipway_op op, Group& group,
             std::unique_ptr<MpiRanks> ranks);
  void MakeBuckets(std::vector<JoinedBucket> joined);
  void Pack(const Bucket& bucket);
  void Unpack(const Bucket& bucket);
  void AwaitCopies();

  slipway_op op_;
  Group& group_;
  std::unique_ptr<MpiRanks> ranks_;
  std::optional<DeviceBlock> block_;  ///< for the buckets of several pieces
  std::vector<Bucket> buckets_;
};

}  // namespace slipway::runtime
