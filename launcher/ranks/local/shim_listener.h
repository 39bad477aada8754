/// Where the shims of a job of several ranks come in: from this machine, or from the nodes of an allocation.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "core/event_loop.h"
#include "core/unique_handle.h"

namespace slipway::launcher {

/// All calls from the loop's thread.
class ShimListener {
 public:
  virtual ~ShimListener() = default;
  /// What the shims connect to, on whichever node they are.
  virtual const std::filesystem::path& path() const = 0;
  /// SIGKILL to the process group of a program whose shim was killed.
  virtual void KillGroup(int node, pid_t group) = 0;
  /// Why the node cannot be spoken to any more; empty while it can.
  virtual std::string TroubleOf(int node) const = 0;

  /// A connected shim, and the number of the node that it is on.
  using Arrived = std::function<void(UniqueFd socket, int node)>;
};

/// For shims on this machine, which is node 0.
std::unique_ptr<ShimListener> OpenLocalShimListener(EventLoop& loop, ShimListener::Arrived arrived);

}  // namespace slipway::launcher
