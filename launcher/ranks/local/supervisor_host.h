/// Where a supervisor of programs runs: on this machine, or on a node of an allocation.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "core/process.h"
#include "core/unique_handle.h"

namespace slipway::launcher {

class SupervisorHost {
 public:
  /// What it has started ends.
  virtual ~SupervisorHost() = default;
  /// Starts a supervisor; one before it has ended. Returns the socket to speak to it.
  /// Errors: Error(kEnvironment) when none can be started there.
  virtual UniqueFd Begin() = 0;
  /// Of the supervisor that Begin has started; without a process when it cannot be looked at from here.
  virtual ProcessIdentity Identity() const = 0;
  virtual std::string HostName() const = 0;
  /// SIGKILL to what a program has left behind whose supervisor was killed.
  virtual void KillGroup(pid_t group) = 0;
  /// SIGKILL to a supervisor that is stuck.
  virtual void Kill() = 0;
  /// The socket has been closed; waits until the supervisor has ended.
  virtual void Leave() = 0;
  /// Why nothing can be started there any more; empty while it can.
  virtual std::string Trouble() const { return {}; }
};

std::unique_ptr<SupervisorHost> SupervisorHere();

/// A supervisor that runs on this machine, and the socket to speak to it.
struct StartedSupervisor {
  ChildProcess process;
  UniqueFd socket;
};
/// Errors: Error(kEnvironment) when it cannot be started.
StartedSupervisor StartSupervisor();

}  // namespace slipway::launcher
