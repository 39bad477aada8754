/// Tensors that GPUs combine where they lie.
#pragma once

#include <span>
#include <vector>

#include "core/words.h"
#include "runtime/device/stream.h"
#include "runtime/exchange/arrivals.h"
#include "runtime/exchange/bucket_exchange.h"
#include "runtime/exchange/device_tensors.h"
#include "runtime/exchange/settings.h"
#include "runtime/group/group.h"

namespace slipway::runtime {

/// Who combines tensors on GPUs.
enum class CombineWay { kStaged, kDirect, kNccl, kNcclInNodes, kMpi };
WordTable<CombineWay> WordsOf(CombineWay);  ///< for comm.json

/// A tensor has arrived when the program's stream has made it. Nothing is stored: what is combined is in its place.
class CombinedTensors : public DeviceTensors {
 public:
  const std::vector<TensorInfo>& values() const override { return tensors_; }
  void Fetch(std::span<const int> tensors, StreamHandle stream) override;
  bool Fetching() const override { return arrivals_.Coming(); }
  std::optional<int> TakeArrived() override { return arrivals_.Take(); }
  void Store(std::span<const int>) override {}
  void Release(StreamHandle) override {}
  bool IsAtWork() const override { return false; }
  void AwaitResult(Waiter&) override {}

  /// Once, before the first Combine(). The same on all ranks. Collective.
  /// Errors: RuntimeError on all ranks, as of a GPU that has no memory left.
  virtual void SetBuckets(std::span<const BucketPlan> plans) = 0;
  /// Combines a bucket whose values have arrived, over all ranks: in each step all of them, from the first on. After
  /// the last one all sums are there, or Release() makes streams wait for them. Collective.
  /// Errors: DeviceError, RuntimeError(DEVICE), and those of the group.
  virtual void Combine(std::size_t bucket, Group& group) = 0;
  virtual CombineWay way() const = 0;
  /// Who waits for a GPU before another one goes on.
  virtual GpuWaits waits() const { return GpuWaits::kCpu; }
  /// Whether other ranks have the tensors' memory mapped.
  virtual bool MapsMemory() const = 0;
  /// Whether sums have the bits that the CPU gives.
  virtual bool HasBitsOfCpu() const = 0;

 protected:
  CombinedTensors(const DevicePlace& place, std::span<const TensorInfo> tensors);

  /// Of Fetch(), where no thread waits for the values.
  void TakeAtOnce(std::span<const int> tensors) { arrivals_.AddHere(tensors); }
  const DevicePlace& place() const { return place_; }
  const TensorInfo& tensor(int index) const { return tensors_[static_cast<std::size_t>(index)]; }
  /// For sums, which what arrives later must not hold back.
  DeviceStream& sums() { return sums_; }
  /// For the last of them.
  DeviceEvent& done() { return done_; }

 private:
  DevicePlace place_;
  std::vector<TensorInfo> tensors_;
  Arrivals arrivals_;
  DeviceEvent done_;
  DeviceStream sums_;
};

}  // namespace slipway::runtime
