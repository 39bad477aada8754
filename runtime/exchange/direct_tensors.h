/// Tensors that the GPUs of a node combine themselves.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/device/stream.h"
#include "runtime/device/sum_kernel.h"
#include "runtime/exchange/bucket_exchange.h"
#include "runtime/exchange/device_tensors.h"
#include "runtime/exchange/shared_device_memory.h"
#include "runtime/group/group.h"

namespace slipway::runtime {

/// Each rank's GPU adds up its share of the elements of all ranks, and writes it to all: as much memory traffic as a
/// copy, and nothing over the link to the CPU.
class DirectTensors : public DeviceTensors {
 public:
  /// Null on all ranks where this cannot be done: other operations than sum and mean, ranks on several nodes, a tensor
  /// that is not of floats, or what SharedDeviceMemory lists. Collective.
  static std::unique_ptr<DirectTensors> Make(const DevicePlace& place, std::span<const TensorInfo> tensors,
                                             slipway_op op, Group& group);

  const std::vector<TensorInfo>& values() const override { return tensors_; }
  void Fetch(int tensor, StreamHandle stream) override;
  bool Fetching() const override { return !coming_.empty(); }
  std::optional<int> TakeArrived() override;
  void Store(std::span<const int>) override {}
  void Release(StreamHandle) override {}

  /// Once, before the first Combine(). The same on all ranks.
  void SetBuckets(std::span<const BucketPlan> plans);
  /// Combines a bucket whose values have arrived, over all ranks, and waits for it. Collective.
  /// Errors: DeviceError, and those of NodeChannel.
  void Combine(std::size_t bucket, Group& group);

 private:
  std::vector<SumPart> PartsOf(const BucketPlan& plan) const;

  struct Bucket {
    Call call;
    SumTable table;
  };
  DirectTensors(const DevicePlace& place, std::span<const TensorInfo> tensors, slipway_op op,
                std::unique_ptr<SharedDeviceMemory> memory, const Group& group);

  DevicePlace place_;
  std::vector<TensorInfo> tensors_;
  slipway_op op_;
  int rank_;
  int ranks_;
  const SumKernel& kernel_;
  std::unique_ptr<SharedDeviceMemory> memory_;
  DeviceEvent made_;                  ///< the program's stream, at Fetch()
  std::vector<DeviceEvent> arrived_;  ///< by tensor
  DeviceEvent done_;
  std::deque<int> coming_;
  DeviceStream arrivals_;
  DeviceStream sums_;  ///< by itself: what arrives later must not hold sums back
  std::vector<Bucket> buckets_;
};

}  // namespace slipway::runtime
