/// The nodes that the batch system has given to a run, with an agent on each.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/error.h"
#include "core/event_loop.h"
#include "core/interrupt.h"
#include "core/output.h"
#include "core/process.h"
#include "launcher/plan/plan.h"
#include "launcher/ranks/local/ranks.h"
#include "launcher/ranks/nodes/cross_thread_calls.h"
#include "launcher/ranks/nodes/nodes.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

/// Agents do not come up on all nodes of the job.
class NodesMissing : public Error {
 public:
  using Error::Error;
};

class Allocation {
 public:
  /// Starts an agent on each node of this process's job. Serves the loop until all agents have joined.
  /// Errors: Error(kEnvironment) when the job has fewer nodes than the plan needs, or this process may open too few
  ///         files; NodesMissing; Error(kInterrupted) when the user ends it.
  /// `warned` gets what the run's user should know of a node, in the thread of the loop.
  Allocation(const RunFolder& folder, const Plan& plan, EventLoop& loop, Interrupt& interrupt, Output& output,
             std::function<void(const std::string&)> warned);
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;
  /// Ends the agents and everything that they started.
  ~Allocation();

  Nodes& nodes() { return nodes_; }
  /// True when this process runs on one of the nodes.
  bool HasThisNode() const;
  /// The numbers of the nodes that are not lost, in rising order.
  std::vector<int> Living() const;

 private:
  void AwaitAgents(EventLoop& loop, const Interrupt& interrupt, std::chrono::seconds patience);

  std::filesystem::path log_;
  CrossThreadCalls warnings_;  ///< of the thread that serves the nodes, which must end first
  Nodes nodes_;
  ChildProcess step_;
};

/// Errors: Error(kEnvironment) when a manager that may still open `descriptors` files cannot serve `nodes` agents and
/// the ranks of one job of the spec. Pure.
void RequireDescriptors(const Spec& spec, int nodes, std::int64_t descriptors);

/// Removes Slurm's variables of this node from `environment`. Hydra would hand it to the ranks of all nodes. Other
/// launchers give each node its own values; for them nothing changes.
void LeaveThisNode(const MpiLauncher& launcher, Environment& environment);

/// Makes `launch` start its ranks on this process's node, by name.
/// Errors: Error(kEnvironment) when this process is on no node of a job.
void PlaceOnThisNode(const Spec& spec, RankLaunch& launch);

/// Makes `launch` start launch.ranks_per_node ranks on each of these nodes.
void PlaceOnNodes(Nodes& nodes, const std::vector<int>& on, const Spec& spec, RankLaunch& launch);

}  // namespace slipway::launcher
