/// Allreduce through blocks of GPU memory that the ranks of a node share.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/device/sum_kernel.h"
#include "runtime/exchange/group_allreduce.h"
#include "runtime/exchange/pool_maps.h"
#include "runtime/exchange/settings.h"
#include "runtime/exchange/shared_device_memory.h"
#include "runtime/exchange/step_events.h"

namespace slipway::runtime {

/// A message is copied part by part to this rank's block, combined by the GPUs of all ranks, and copied back. So memory
/// of any allocator can be combined. What lies in memory of slipway_alloc_on_device is combined where it lies.
///
/// Each part is a step of one bucket: the CPUs wait for their GPUs between the meetings of the ranks, or the GPUs wait
/// for each other by StepEvents.
class DirectBounce : public GroupAllreduce {
 public:
  static constexpr std::int64_t kBlockBytes = 32 << 20;

  /// Null on all ranks where one of them cannot, or its GPU has no memory left, or sums are wrong (PeerSumsAreRight()).
  /// `waits`: what is asked for; events where all ranks ask for them and can share them. Collective.
  static std::unique_ptr<DirectBounce> Make(const DevicePlace& place, Group& group, GpuWaits waits);

  GpuWaits waits() const override { return events_ != nullptr ? GpuWaits::kEvents : GpuWaits::kCpu; }
  /// Ends the use of the other ranks' blocks, which they may free when all ranks have done so.
  void Close() override;
  void AwaitSums(Waiter& waiter) override;
  void Allreduce(char* data, std::int64_t count, const Reduction& reduction, Group& group,
                 StreamHandle stream) override;

 private:
  /// Where each rank's GPU finds a part, and whether this rank's is in its block.
  struct Spread {
    std::vector<char*> at;
    bool bounced = false;
  };
  static std::unique_ptr<DirectBounce> MakeOwnPart(const DevicePlace& place, Group& group);
  DirectBounce(const DevicePlace& place, Group& group);
  void Share(Group& group, GpuWaits waits);
  void CombinePart(char* data, const Call& call, Group& group);
  void CopyToBlock(const char* data, const Call& call);
  void AnnounceValues();
  Spread Meet(char* data, const Call& call, Group& group);
  void EndSums(const Call& call, Group& group);
  void Await();
  void AwaitWhatReturned(Waiter& waiter);
  void HandBack(StreamHandle stream);
  const SumTable& TableOf(const Call& call, std::vector<char*> at);

  DevicePlace place_;
  Communicator& members_;
  int rank_;
  int ranks_;
  const SumKernel& kernel_;
  DeviceBlock block_;
  std::unique_ptr<SharedDeviceMemory> blocks_;  ///< of all ranks
  const DevicePool& pool_;
  std::unique_ptr<PoolMaps> maps_;
  DeviceEvent made_;  ///< the program's stream
  DeviceEvent point_;
  DeviceStream stream_;
  DeviceStream table_copies_;  ///< stream_ may wait for the program, and for GPUs of other ranks
  SumTables tables_;
  std::unique_ptr<StepEvents> events_;  ///< of one bucket; null: the CPUs wait
  std::mutex in_use_;                   ///< by a thread that combines, or waits for sums
};

}  // namespace slipway::runtime
