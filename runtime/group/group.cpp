#include "runtime/group/group.h"

namespace slipway::runtime {

Group::Group(std::unique_ptr<Communicator> communicator, Topology topology, ProcessMemory& memory)
    : communicator_(std::move(communicator)),
      topology_(std::move(topology)),
      memory_(memory),
      members_(*communicator_),
      node_(*communicator_, topology_.local),
      leaders_(*communicator_, topology_.leaders) {
  if (size() > topology_.nodes()) channel_ = NodeChannel::Create(*communicator_, topology_, memory.pool, memory.peers);
  selection_.table = AlgorithmTable::Default(placement());
}

Placement Group::placement() const {
  return {.ranks = size(),
          .nodes = topology_.nodes(),
          .shared_memory = channel_ != nullptr,
          .direct_copies = channel_ != nullptr && channel_->direct_copies()};
}

}  // namespace slipway::runtime
