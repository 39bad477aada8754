/// The nodes that the batch system has given to a run, with an agent on each.
#pragma once

#include <memory>
#include <vector>

#include "core/error.h"
#include "core/event_loop.h"
#include "core/interrupt.h"
#include "core/output.h"
#include "core/process.h"
#include "launcher/plan/plan.h"
#include "launcher/ranks/local/ranks.h"
#include "launcher/ranks/nodes/nodes.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

/// Agents do not come up on all nodes of the job.
class NodesMissing : public Error {
 public:
  using Error::Error;
};

/// Whether the run's job may be queued again to get nodes in the place of lost ones: its job is its own, the spec
/// allows it, and it is not done for ever. Slurm gives a dead node once more before it notices.
bool MayGetOtherNodes(const Plan& plan, const RunState& state);

/// The same for nodes on which no agent has begun. A job that has never had its nodes may never have them, however
/// often it is queued again: only a run that is to go on whatever becomes of its nodes, or one that came back after a
/// loss.
bool MayGetMissingNodes(const Plan& plan, const RunState& state);

class Allocation {
 public:
  /// Puts an agent on each node of the job that this process runs in, and serves the loop until all have joined.
  /// Errors: Error(kEnvironment) when the job has fewer nodes than the plan wants; NodesMissing; Error(kInterrupted)
  ///         when the user ends it.
  Allocation(const RunFolder& folder, const Plan& plan, EventLoop& loop, Interrupt& interrupt, Output& output);
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;
  /// Ends the agents, and with them what they have started.
  ~Allocation();

  Nodes& nodes() { return nodes_; }
  /// The numbers of those that are there, in rising order.
  std::vector<int> Living() const;

 private:
  void AwaitAgents(EventLoop& loop, const Interrupt& interrupt);

  std::filesystem::path log_;
  Nodes nodes_;
  ChildProcess step_;
};

/// For a start on several nodes: Hydra hands its own environment to the ranks of all of them, so what Slurm says of
/// this node must not be in it. Other starters leave each node its own.
void LeaveThisNode(const MpiLauncher& launcher, Environment& environment);

/// Has `launch` start its ranks on the node of the job that this process is on, by name.
/// Errors: Error(kEnvironment) when it is on none.
void PlaceOnThisNode(RankLaunch& launch);

/// Has `launch` start its ranks on these nodes, as many on each as the plan says.
void PlaceOnNodes(Nodes& nodes, const std::vector<int>& on, int ranks_per_node, RankLaunch& launch);

}  // namespace slipway::launcher
