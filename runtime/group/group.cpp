#include "runtime/group/group.h"

namespace slipway::runtime {
namespace {

struct CallOfRank {
  std::uint64_t packed = 0;
  std::int64_t count = 0;

  bool operator==(const CallOfRank&) const = default;
};

}  // namespace

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

CombineThreads* Group::ThreadsForGpus() {
  if (channel_ == nullptr) return nullptr;
  memory_.threads.Measure(topology_.local_size());
  return &memory_.threads;
}

void Group::Meet(const Call& call) {
  if (on_one_node()) return channel_->Meet(call);
  const auto calls = AllgatherValues(*communicator_, CallOfRank{call.Packed(), call.count});
  const auto& ranks = communicator_->job_ranks();
  for (std::size_t rank = 1; rank < calls.size(); ++rank) {
    if (calls[rank] == calls[0]) continue;
    RefuseDifference({ranks[rank], Call::FromPacked(calls[rank].packed, calls[rank].count)},
                     {ranks[0], Call::FromPacked(calls[0].packed, calls[0].count)}, SeenBy::kAllRanks);
  }
}

}  // namespace slipway::runtime
