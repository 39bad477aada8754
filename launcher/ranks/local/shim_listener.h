/// Accepts the shims of a job of several ranks, from this machine or the nodes of an allocation.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "core/event_loop.h"
#include "core/unique_handle.h"

namespace slipway::launcher {

/// Call it only from the loop's thread.
class ShimListener {
 public:
  virtual ~ShimListener() = default;
  /// The path of the socket that the shims connect to, on every node.
  virtual const std::filesystem::path& path() const = 0;
  /// Sends SIGKILL to the process group of a program whose shim was killed.
  virtual void KillGroup(int node, pid_t group) = 0;
  /// Why the node is unreachable; empty while it is not.
  virtual std::string TroubleOf(int node) const = 0;

  /// Called with a connected shim and the number of its node.
  using Arrived = std::function<void(UniqueFd socket, int node)>;
};

/// For shims on this machine, which is node 0.
std::unique_ptr<ShimListener> OpenLocalShimListener(EventLoop& loop, ShimListener::Arrived arrived);

}  // namespace slipway::launcher
