/// Tensors that the GPUs of a node combine themselves.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/device/sum_kernel.h"
#include "runtime/exchange/combined_tensors.h"
#include "runtime/exchange/shared_device_memory.h"
#include "runtime/exchange/step_events.h"
#include "runtime/exchange/way_candidates.h"
#include "runtime/exchange/without_direct.h"

namespace slipway::runtime {

class DirectTensors;

/// Or why there are none, on all ranks.
struct MadeDirect {
  std::unique_ptr<DirectTensors> tensors;
  std::optional<WithoutDirect> without;
};

/// Each rank's GPU adds up its share of the elements of all ranks, and writes it to all: as much memory traffic as a
/// copy, and nothing over the link to the CPU.
class DirectTensors : public CombinedTensors {
 public:
  /// None on all ranks where this cannot be done: other operations than sum and mean, ranks on several nodes, a tensor
  /// that is not of floats, what SharedDeviceMemory lists, or wrong sums (PeerSumsAreRight()). No rank has a tensor
  /// mapped then. `waits`: what is asked for; events where all ranks ask for them and can share them. Collective.
  /// Errors: RuntimeError on all ranks when a GPU fails, or has no memory left.
  static MadeDirect Make(const DevicePlace& place, std::span<const TensorInfo> tensors, slipway_op op, Group& group,
                         GpuWaits waits = GpuWaits::kCpu);

  ~DirectTensors() override;
  void SetBuckets(std::span<const BucketPlan> plans) override;
  void Fetch(std::span<const int> tensors, StreamHandle stream) override;
  /// Errors: DeviceError, and those of NodeChannel.
  void Combine(std::size_t bucket, Group& group) override;
  void Release(StreamHandle stream) override;
  bool IsAtWork() const override;
  void AwaitResult(Waiter& waiter) override;
  CombineWay way() const override { return CombineWay::kDirect; }
  bool MapsMemory() const override { return true; }
  bool HasBitsOfCpu() const override { return CpuAddsInOrderOfRanks(group_); }
  GpuWaits waits() const override { return events_ != nullptr ? GpuWaits::kEvents : GpuWaits::kCpu; }

 private:
  static MadeDirect MakeUntried(const DevicePlace& place, std::span<const TensorInfo> tensors, slipway_op op,
                                Group& group, GpuWaits waits);
  bool TriesSums();
  void EndStep(const Call& last, Group& group);
  std::vector<SumPart> PartsOf(const BucketPlan& plan) const;

  struct Bucket {
    Call call;
    SumTable table;
  };
  DirectTensors(const DevicePlace& place, std::span<const TensorInfo> tensors, slipway_op op,
                std::unique_ptr<SharedDeviceMemory> memory, Group& group);

  slipway_op op_;
  Group& group_;
  int rank_;
  int ranks_;
  const SumKernel& kernel_;
  std::unique_ptr<SharedDeviceMemory> memory_;
  std::vector<Bucket> buckets_;
  GpuWaits asked_ = GpuWaits::kCpu;     ///< on all ranks
  std::unique_ptr<StepEvents> events_;  ///< null: the CPUs wait
  std::vector<int> bucket_of_;          ///< by tensor; -1: empty. With events only
};

}  // namespace slipway::runtime
