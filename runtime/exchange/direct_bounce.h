/// Allreduce through blocks of GPU memory that the ranks of a node share.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/device/sum_kernel.h"
#include "runtime/exchange/group_allreduce.h"
#include "runtime/exchange/pool_maps.h"
#include "runtime/exchange/shared_device_memory.h"

namespace slipway::runtime {

/// A message is copied part by part to this rank's block, combined by the GPUs of all ranks, and copied back. So memory
/// of any allocator can be combined. What lies in memory of slipway_alloc_on_device is combined where it lies.
class DirectBounce : public GroupAllreduce {
 public:
  static constexpr std::int64_t kBlockBytes = 32 << 20;

  /// Null on all ranks where one of them cannot, or its GPU has no memory left, or sums are wrong (PeerSumsAreRight()).
  /// Collective.
  static std::unique_ptr<DirectBounce> Make(const DevicePlace& place, Group& group);

  const DevicePlace& place() const override { return place_; }
  /// Ends the use of the other ranks' blocks, which they may free when all ranks have done so.
  void Close() override {
    blocks_.reset();
    maps_.reset();
  }
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
  void Share(Group& group);
  void CombinePart(char* data, const Call& call, Group& group);
  void CopyToBlock(const char* data, const Call& call, Group& group);
  Spread Meet(char* data, const Call& call, Group& group);
  const SumTable& TableOf(const Call& call, std::vector<char*> at);

  DevicePlace place_;
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
  SumTables tables_;
};

}  // namespace slipway::runtime
