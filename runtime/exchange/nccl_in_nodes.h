/// NCCL within each node, and the allreduce of the CPU between nodes.
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/collectives/pieces.h"
#include "runtime/device/stream.h"
#include "runtime/exchange/nccl_ranks.h"
#include "runtime/exchange/settings.h"
#include "runtime/group/group.h"
#include "runtime/memory/pool_memory.h"

namespace slipway::runtime {

/// Each rank carries a share of its node's sums to the ranks with the same place on other nodes.
///
/// Limits: one thread at a time, as of the group.
class NcclInNodes {
 public:
  /// Nothing but several nodes with as many ranks each, several and with shared memory, can use it.
  static bool Suits(const Group& group);
  /// Of a group that it suits, and which outlives it. `asked`: as for NcclRanks::Connect(). Collective.
  /// Errors: those of NcclRanks::Connect(), on all ranks.
  static std::unique_ptr<NcclInNodes> Connect(const DevicePlace& place, Group& group, GpuExchange asked);

  /// Before the first Combine(): memory for messages of up to `bytes` bytes. Collective.
  /// Memory: the whole message on the GPU, and a share of it that is pinned.
  /// Errors: RuntimeError on all ranks, as of a GPU without memory.
  void Reserve(std::int64_t bytes);
  /// Combines a message of these pieces, in place, which the GPU has when `stream` gets there. Returns with the result.
  /// Sums and means of floats. `done`: for its own use. Collective.
  /// Errors: PartedError(DEVICE), (STALLED), and those of the group.
  void Combine(Pieces pieces, const Call& call, DeviceStream& stream, DeviceEvent& done);

 private:
  /// A message on its way between the nodes.
  struct Travel {
    Travel(const DevicePlace& place, std::int64_t block_bytes, std::int64_t share_bytes, SharedPool& pool);

    DeviceBlock block;
    PoolMemory image;  ///< of this rank's share
    PinnedRange pinned;
  };
  NcclInNodes(const DevicePlace& place, Group& group) : place_(place), group_(group) {}
  void Divide();
  void ConnectNode(GpuExchange asked);
  std::int64_t BytesOfShare(std::int64_t bytes) const;
  std::int64_t ShareOf(const Call& call) const;
  char* OwnShare(const Call& call) const;
  void ScatterSums(Pieces pieces, const Call& call, DeviceStream& stream);
  void GatherResult(Pieces pieces, const Call& call, DeviceStream& stream);
  void Await(DeviceStream& stream, DeviceEvent& done);

  DevicePlace place_;
  Group& group_;
  std::unique_ptr<Communicator> node_;
  std::unique_ptr<Group> peers_;  ///< the rank with the same place on each node
  std::unique_ptr<NcclRanks> ranks_;
  std::unique_ptr<Travel> travel_;
};

}  // namespace slipway::runtime
