/// The host of a supervisor: this machine, or a node of an allocation.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/process.h"
#include "core/unique_handle.h"

namespace slipway::launcher {

class SupervisorHost {
 public:
  /// Ends what it has started.
  virtual ~SupervisorHost() = default;
  /// Starts a supervisor; an earlier one must have ended. Returns the socket to it.
  /// Errors: Error(kEnvironment) when none can be started there.
  virtual UniqueFd Begin() = 0;
  /// The supervisor that Begin started; without a process when it is not visible from this machine.
  virtual ProcessIdentity Identity() const = 0;
  virtual std::string HostName() const = 0;
  /// Sends SIGKILL to the group of a program whose supervisor was killed.
  virtual void KillGroup(pid_t group) = 0;
  /// Sends SIGKILL to the processes of programs, by their IDs, whose supervisor was killed before it named their
  /// groups. They are found by their environment. Cost: looks at every process, twice or more.
  virtual void KillByTag(const std::vector<std::uint64_t>& programs) = 0;
  /// Sends SIGKILL to a supervisor that is stuck.
  virtual void Kill() = 0;
  /// Waits until the supervisor has ended. Its socket must be closed before.
  virtual void Leave() = 0;
  /// Why nothing can be started there any more; empty while it can.
  virtual std::string Trouble() const { return {}; }
};

std::unique_ptr<SupervisorHost> SupervisorHere();

/// Starts a supervisor on this machine, with `socket` as its end of the connection to its manager. It waits for the
/// file system of the program. Errors: Error(kEnvironment) when it cannot be started.
ChildProcess StartSupervisor(const UniqueFd& socket);

}  // namespace slipway::launcher
