/// Groups of all ranks that tests make by themselves, on one node or on several pretended ones.
#pragma once

#include <algorithm>
#include <memory>

#include "runtime/group/group.h"
#include "runtime/watch/watch.h"
#include "tests/runtime/ranks.h"

namespace slipway::test {

/// `per_node`: ranks on a pretended node; 0: as MPI says.
inline runtime::Topology PretendedTopology(int per_node) {
  runtime::Topology topology;
  if (per_node == 0) per_node = Ranks();
  for (int rank = 0; rank < Ranks(); ++rank) {
    if (rank % per_node == 0) topology.leaders.push_back(rank);
    if (rank / per_node == Rank() / per_node) topology.local.push_back(rank);
  }
  topology.local_rank = Rank() % per_node;
  topology.crowded = true;
  return topology;
}

struct TestGroup {
  explicit TestGroup(int per_node = 0, std::int64_t shared_limit = INT64_MAX, std::int64_t first_serial = 1)
      : memory{runtime::SharedPool(shared_limit, {}, first_serial), {}},
        group(runtime::Communicator::OfJob(MPI_COMM_WORLD, waiter()), PretendedTopology(per_node), memory) {}

  runtime::Waiter waiter() { return {watch, runtime::Waiter::Manner::kForeground, true}; }

  runtime::Watch watch{runtime::WatchSettings()};
  runtime::ProcessMemory memory;
  runtime::Group group;
};

}  // namespace slipway::test
