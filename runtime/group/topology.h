/// Which ranks of a group share a node.
#pragma once

#include <vector>

#include "runtime/group/communicator.h"

namespace slipway::runtime {

struct Topology {
  std::vector<int> local;    ///< ranks of this node, ascending; the first is the node's leader
  std::vector<int> leaders;  ///< one rank of each node, ascending
  int local_rank = 0;        ///< this rank's place in `local`
  bool crowded = false;      ///< more ranks on this node than cores that any of them may use; the same on all of them
  bool uniform = true;       ///< as many ranks on every node

  int local_size() const { return static_cast<int>(local.size()); }
  int nodes() const { return static_cast<int>(leaders.size()); }
  int leader() const { return local.front(); }
};

/// kAsAsked: SLIPWAY_RANKS_PER_NODE splits nodes into smaller ones, to try what several nodes do.
enum class Nodes { kReal, kAsAsked };
/// Asks MPI and hwloc. Collective.
Topology FindTopology(Communicator& communicator, Nodes nodes);

/// Cores that this process and its neighbours on the node may use. Source: hwloc, "Physical cores within the cpuset".
int CoresOfNode();

}  // namespace slipway::runtime
