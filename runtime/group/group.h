/// Ranks that do collectives together, with all that these need.
#pragma once

#include <memory>

#include "runtime/device/device_pool.h"
#include "runtime/group/communicator.h"
#include "runtime/group/node_channel.h"
#include "runtime/group/point_to_point.h"
#include "runtime/group/topology.h"
#include "runtime/memory/shared_pool.h"
#include "runtime/reduction/combine_threads.h"
#include "runtime/selection/algorithm_table.h"

namespace slipway::runtime {

/// What the groups of a process have in common.
struct ProcessMemory {
  SharedPool pool;
  PeerMemory peers;
  DevicePool devices = {};
  CombineThreads threads = CombineThreads();  ///< for what comes from GPUs
};

/// How collectives are chosen.
struct SelectionSettings {
  AlgorithmTable table = AlgorithmTable::Default({});
  bool canonical = false;  ///< bits that do not depend on where the ranks are
};

class Group {
 public:
  /// Collective over `communicator`.
  Group(std::unique_ptr<Communicator> communicator, Topology topology, ProcessMemory& memory);
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  int rank() const { return communicator_->rank(); }
  int size() const { return communicator_->size(); }
  bool alone() const { return size() == 1; }

  Communicator& communicator() { return *communicator_; }
  const Topology& topology() const { return topology_; }
  ProcessMemory& memory() { return memory_; }
  /// Null without shared memory, and where each rank has a node of its own.
  NodeChannel* channel() { return channel_.get(); }
  /// Whether all its ranks are on one node, and share memory.
  bool on_one_node() const { return channel_ != nullptr && topology_.nodes() == 1; }
  const SelectionSettings& selection() const { return selection_; }
  void SetSelection(const SelectionSettings& selection) { selection_ = selection; }
  Placement placement() const;
  /// Those that combine what comes from GPUs; null where ranks share no memory. The first call in a process measures
  /// how many are best (CombineThreads::Measure), so all ranks make it at about the same time. It is measured for the
  /// ranks of this group, and holds for all groups of the process.
  CombineThreads* ThreadsForGpus();
  /// Waits until all ranks are here, with the same call. The watch names who is late: NCCL and MPI would not, so their
  /// calls begin after this one.
  /// Errors: MISMATCH on all ranks; STALLED.
  void Meet(const Call& call);

  PointToPoint& members() { return members_; }
  PointToPoint& node() { return node_; }
  PointToPoint& leaders() { return leaders_; }  ///< only the leader of a node may use it

 private:
  std::unique_ptr<Communicator> communicator_;
  Topology topology_;
  ProcessMemory& memory_;
  SelectionSettings selection_;
  PointToPoint members_;
  PointToPoint node_;
  PointToPoint leaders_;
  std::unique_ptr<NodeChannel> channel_;
};

}  // namespace slipway::runtime
