/// Nodes on this machine: agents, each with a file system of its own at one common path.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/unique_handle.h"
#include "launcher/ranks/nodes/nodes.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {

class NodesHere {
 public:
  NodesHere();
  NodesHere(const NodesHere&) = delete;
  NodesHere& operator=(const NodesHere&) = delete;
  /// Ends all agents.
  ~NodesHere();

  /// Seen by all nodes.
  const std::filesystem::path& shared() const { return folder_.path(); }
  /// Where TMPDIR leads, and so the tier `node`: other files on each node.
  std::filesystem::path local() const { return folder_ / "local"; }

  /// Starts a node for each entry, with a tmpfs of so many MiB at local(). Returns when all have joined; false where a
  /// process may have no mounts of its own.
  bool Start(const std::vector<int>& mebibytes);
  /// Where the files of `path`, below local(), are seen from here, also after the node has ended.
  std::filesystem::path Seen(int node, const std::filesystem::path& path) const;
  /// SIGKILL to its agent.
  void Kill(int node);
  /// The staging member on the node; 0 when there is none.
  pid_t MemberOn(int node) const;
  /// Ends the connections to all agents, as when the manager is killed; they leave when their programs have ended.
  void LeaveAlone();

  Nodes& nodes() { return *nodes_; }

 private:
  struct Agent {
    pid_t pid = 0;
    UniqueFd local;
  };

  Agent StartAgent(int node, int mebibytes) const;

  test::TempDirectory folder_;
  std::optional<std::string> temporary_;
  std::unique_ptr<Nodes> nodes_;
  std::vector<Agent> agents_;
};

}  // namespace slipway::launcher
