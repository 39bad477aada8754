/// The nodes of a job, for its manager. Each node has an agent. Through it, shims and supervisors there look as if they
/// ran here.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/event_loop.h"
#include "core/unique_handle.h"
#include "launcher/ranks/local/shim_listener.h"
#include "launcher/ranks/nodes/agent_options.h"
#include "launcher/ranks/nodes/node_frame.h"
#include "launcher/ranks/nodes/node_link.h"

namespace slipway::launcher {

/// A thread of its own serves the connections, so a manager that waits for a disk does not lose its nodes. Call it from
/// one thread only.
class Nodes {
 public:
  /// What each stream to a program of a node costs the manager: both ends are in it.
  static constexpr std::int64_t kDescriptorsOfStream = 2;
  /// What a manager holds beside its streams: logs, the trial book, watched directories, helpers.
  static constexpr std::int64_t kOtherDescriptors = 64;
  /// What connections to so many agents cost the manager, with the streams of one job: to the monitor of each of its
  /// `nodes`, and to each of its `ranks`.
  static constexpr std::int64_t DescriptorsFor(int agents, int nodes, int ranks) {
    return agents + kDescriptorsOfStream * (std::int64_t{nodes} + ranks);
  }

  struct Options {
    int count = 1;
    std::string run;                   ///< AgentOptions::run
    std::filesystem::path key_folder;  ///< gets the key file; every node sees it
    std::string host;                  ///< where to listen: a name or address of this node
    /// A folder that each node has for itself, with a short path. Nodes may share TMPDIR.
    std::filesystem::path sockets_in = "/tmp";
    std::chrono::seconds join_patience{120};
    NodePatience patience{std::chrono::seconds(4), std::chrono::seconds(30)};  ///< a node silent for longer is lost
    /// What the run's user should know. Called in the thread that serves the connections.
    std::function<void(const std::string& what)> warned = {};
  };

  /// Makes the key and listens. Errors: Error(kEnvironment) when it cannot.
  explicit Nodes(Options options);
  Nodes(const Nodes&) = delete;
  Nodes& operator=(const Nodes&) = delete;
  /// Leaves.
  ~Nodes();

  /// Ends the connections, and with them the agents; removes the key. After it no other call is allowed.
  void Leave();

  /// The arguments of the agents; start one on each node.
  const AgentOptions& agents() const { return agents_; }
  /// True when all nodes have joined; waits for it at most `limit`.
  bool AwaitJoined(std::chrono::milliseconds limit);
  /// "2 of 4 nodes have not joined (node 0, 3); who connected last does not hold the group's key". Not all are named.
  std::string Missing() const;

  int count() const { return agents_.nodes; }
  /// The facts of a node that has joined.
  NodeFacts FactsOf(int node) const;
  /// Why the node is lost; empty while it is there, and before it has joined.
  std::string TroubleOf(int node) const;

  /// Starts a slipway-supervisor on that node. The socket ends when the supervisor or the node is gone.
  UniqueFd OpenSupervisor(int node);
  /// A new socket path for the monitors of one job, used on each of its nodes.
  std::filesystem::path NewMonitorPath();
  /// Starts a monitor of the status tables that ranks on that node send to `path`. The socket ends when the monitor or
  /// the node is gone.
  UniqueFd OpenMonitor(int node, const std::filesystem::path& path);
  /// Starts a slipway-gpus with these arguments on that node. The socket gives its lines, and ends with it or with the
  /// node. Anything sent requests its last line; its end kills it.
  UniqueFd OpenGpuMeter(int node, const std::vector<std::string>& arguments);
  void KillGroup(int node, pid_t group);
  /// The node is lost if it is held now (NodePatience::held).
  void GiveUpIfHeld(int node);
  /// For shims on these nodes. This object must outlive it.
  std::unique_ptr<ShimListener> OpenShimListener(EventLoop& loop, std::vector<int> nodes,
                                                 ShimListener::Arrived arrived);

 private:
  class Service;
  class NodesListener;

  AgentOptions agents_;
  std::unique_ptr<Service> service_;
  int next_listener_ = 0;
};

}  // namespace slipway::launcher
