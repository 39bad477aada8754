/// Allreduce by NCCL.
#pragma once

#include <memory>

#include "runtime/exchange/group_allreduce.h"
#include "runtime/exchange/nccl_ranks.h"

namespace slipway::runtime {

/// In place, between all ranks of a group.
class NcclAllreduce : public GroupAllreduce {
 public:
  /// Null on all ranks, with a warning, where NCCL cannot be used. Collective.
  static std::unique_ptr<NcclAllreduce> Make(const DevicePlace& place, Group& group);

  const DevicePlace& place() const override { return place_; }
  void Close() override { ranks_.reset(); }
  void Allreduce(char* data, std::int64_t count, const Reduction& reduction, Group& group,
                 StreamHandle stream) override;

 private:
  NcclAllreduce(const DevicePlace& place, std::unique_ptr<NcclRanks> ranks);

  DevicePlace place_;
  std::unique_ptr<NcclRanks> ranks_;
  DeviceEvent made_;  ///< the program's stream
  DeviceEvent done_;
  DeviceStream stream_;
};

}  // namespace slipway::runtime
