/// Memory of slipway_alloc_on_device of the ranks of a node, mapped into this process.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "runtime/device/device_pool.h"
#include "runtime/device/stream.h"
#include "runtime/group/group.h"

namespace slipway::runtime {

/// Each block is mapped once, at its first use. Blocks are never freed: see DevicePool.
class PoolMaps {
 public:
  PoolMaps(const DevicePlace& place, const DevicePool& own) : place_(place), own_(own), mapped_(place) {}

  /// Where rank `local` of the node has its data; null when it is in no block, or a rank cannot map it. All ranks of
  /// the node ask for the same locations in the same order. Errors: those of PointToPoint.
  char* Reach(int local, SharedLocation where, Group& group);

 private:
  void Learn(Group& group);

  DevicePlace place_;
  const DevicePool& own_;
  std::vector<std::map<std::int64_t, char*>> blocks_;  ///< by rank and serial; the same keys, and nulls, on all ranks
  PeerAllocations mapped_;
};

}  // namespace slipway::runtime
