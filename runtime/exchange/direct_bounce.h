/// Allreduce through blocks of GPU memory that the ranks of a node share.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "runtime/device/sum_kernel.h"
#include "runtime/exchange/group_allreduce.h"
#include "runtime/exchange/shared_device_memory.h"

namespace slipway::runtime {

/// A message is copied part by part to this rank's block, combined by the GPUs of all ranks, and copied back. So memory
/// of any allocator can be combined.
class DirectBounce : public GroupAllreduce {
 public:
  static constexpr std::int64_t kBlockBytes = 32 << 20;

  /// Null on all ranks where one of them cannot. Collective.
  static std::unique_ptr<DirectBounce> Make(const DevicePlace& place, Group& group);

  const DevicePlace& place() const override { return place_; }
  /// Ends the use of the other ranks' blocks, which they may free when all ranks have done so.
  void Close() override { blocks_.reset(); }
  void Allreduce(char* data, std::int64_t count, const Reduction& reduction, Group& group,
                 StreamHandle stream) override;

 private:
  DirectBounce(const DevicePlace& place, const Group& group);
  void CombinePart(const Call& call, Group& group);
  const SumTable& TableOf(std::int64_t count, slipway_dtype dtype);

  DevicePlace place_;
  int rank_;
  int ranks_;
  const SumKernel& kernel_;
  DeviceBlock block_;
  std::unique_ptr<SharedDeviceMemory> blocks_;  ///< of all ranks
  DeviceEvent made_;                            ///< the program's stream
  DeviceEvent point_;
  DeviceStream stream_;
  std::map<std::pair<std::int64_t, slipway_dtype>, SumTable> tables_;
};

}  // namespace slipway::runtime
