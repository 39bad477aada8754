#include "runtime/group/topology.h"

#include <hwloc.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

namespace slipway::runtime {
namespace {

/// The lowest rank with which this one shares memory, as MPI says; parts of it when asked for.
int NodeOf(Communicator& communicator, Nodes nodes) {
  communicator.Barrier();  // MPI's own calls would wait for a missing rank for ever
  MPI_Comm node = MPI_COMM_NULL;
  CheckMpi(MPI_Comm_split_type(communicator.handle(), MPI_COMM_TYPE_SHARED, communicator.rank(), MPI_INFO_NULL, &node),
           "MPI_Comm_split_type");
  int place = 0;
  MPI_Comm_rank(node, &place);
  const char* asked = nodes == Nodes::kAsAsked ? std::getenv("SLIPWAY_RANKS_PER_NODE") : nullptr;
  const int most = asked != nullptr ? std::atoi(asked) : 0;
  MPI_Comm part = MPI_COMM_NULL;
  CheckMpi(MPI_Comm_split(node, most > 0 ? place / most : 0, place, &part), "MPI_Comm_split");
  int first = communicator.rank();
  CheckMpi(MPI_Bcast(&first, 1, MPI_INT, 0, part), "MPI_Bcast");
  MPI_Comm_free(&part);
  MPI_Comm_free(&node);
  return first;
}

int CountCores() {
  hwloc_topology_t topology = nullptr;
  int cores = 0;
  if (hwloc_topology_init(&topology) == 0) {
    if (hwloc_topology_load(topology) == 0) cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
    hwloc_topology_destroy(topology);
  }
  return cores > 0 ? cores : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

}  // namespace

int CoresOfNode() {
  static const int cores = CountCores();
  return cores;
}

Topology FindTopology(Communicator& communicator, Nodes kind) {
  if (communicator.alone()) return {.local = {0}, .leaders = {0}};
  struct Entry {
    int node;
    int cores;
  };
  const auto entries = AllgatherValues(communicator, Entry{NodeOf(communicator, kind), CoresOfNode()});
  Topology topology;
  std::vector<int> nodes;
  for (const auto& entry : entries) nodes.push_back(entry.node);
  const int own = nodes[static_cast<std::size_t>(communicator.rank())];
  int cores = CoresOfNode();
  for (int rank = 0; rank < communicator.size(); ++rank) {
    const int node = nodes[static_cast<std::size_t>(rank)];
    if (node == rank) topology.leaders.push_back(rank);
    if (rank == communicator.rank()) topology.local_rank = topology.local_size();
    if (node != own) continue;
    topology.local.push_back(rank);
    cores = std::min(cores, entries[static_cast<std::size_t>(rank)].cores);
  }
  topology.uniform = std::all_of(topology.leaders.begin(), topology.leaders.end(), [&](int leader) {
    return std::count(nodes.begin(), nodes.end(), leader) == topology.local_size();
  });
  topology.crowded = topology.local_size() > cores;
  return topology;
}

}  // namespace slipway::runtime
