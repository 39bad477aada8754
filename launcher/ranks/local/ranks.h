/// The ranks of one job: how they are described, started, signalled and ended.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/event_loop.h"
#include "core/process.h"
#include "launcher/ranks/local/group_outcome.h"
#include "launcher/ranks/local/mpi_launcher.h"
#include "launcher/ranks/local/node_devices.h"
#include "launcher/ranks/local/shim_listener.h"

namespace slipway::launcher {

class Supervisor;

struct RankLaunch {
  int ranks = 1;
  MpiLauncher mpi;               ///< of several ranks
  std::vector<HostRanks> hosts;  ///< where several ranks run, in the order of the ranks; empty: all on this machine
  /// Makes the listener for the shims of several ranks; empty: a listener on this machine.
  std::function<std::unique_ptr<ShimListener>(EventLoop& loop, ShimListener::Arrived arrived)> shim_listener;
  /// The time limit until several ranks stand at their gate; 0: no limit.
  std::chrono::milliseconds start_patience{0};
  std::vector<std::string> command;
  Environment environment;
  std::filesystem::path working_directory;
  std::vector<int> cores = {};  ///< they may run on these; empty: all that this process may
  /// Node -> the cores that several ranks share out there, so that each has its own. Ranks of other nodes are not
  /// bound. This machine is node 0.
  std::map<int, std::vector<int>> bind_to = {};
  /// Node -> the GPU variables of each of several ranks there, in the order of the ranks. Ranks of other nodes see what
  /// the node shows them.
  std::map<int, std::vector<DeviceVariables>> devices_of = {};
  /// Variables of several ranks that their starter does not have.
  std::vector<std::pair<std::string, std::string>> variables_of_ranks = {};
  /// Node -> variables that only the ranks there have.
  std::map<int, std::vector<std::pair<std::string, std::string>>> variables_on = {};
  std::filesystem::path log_directory;  ///< exists; gets rank-00000.log ... and, from mpirun, launcher.log
  std::chrono::milliseconds grace = std::chrono::seconds(5);  ///< between SIGTERM and SIGKILL
  /// Starts a single rank without a shim, if set; must outlive the job.
  Supervisor* supervisor = nullptr;
  /// Called when one of several ranks fails first, while the others are being ended; may be empty.
  std::function<void(const std::string& what)> failed;
  /// Called when something differs from the request but the job continues; may be empty.
  std::function<void(const std::string& what)> warned = {};
};

/// The started ranks of a job. They wait at a gate until Release. Not movable: the event loop holds the address. Call
/// it only from the loop's thread.
class Ranks {
 public:
  /// Sends SIGKILL to all ranks that still run.
  virtual ~Ranks() = default;
  /// The process whose end ends all ranks; leads its own process group.
  virtual ProcessIdentity leader() const = 0;
  /// Opens the gate once all ranks stand at it.
  virtual void Release() = 0;
  /// Sends a signal to every rank's process group; does nothing before the gate is open.
  virtual void Signal(int number) = 0;
  /// The ranks were asked to save and end. A rank that then ends with exit status 75 no longer ends the others, which
  /// may still be saving.
  virtual void ExpectEnd() = 0;
  /// Sends SIGTERM to every rank's process group, and SIGKILL after the grace time. May be called again.
  virtual void Stop() = 0;
};

/// Starts the ranks, held at their gate. `ended` is called once, from the loop. The ranks may be destroyed after that
/// call, not within it.
/// Errors: Error(kEnvironment) when nothing can be started.
std::unique_ptr<Ranks> StartRanks(EventLoop& loop, RankLaunch launch, std::function<void(const GroupOutcome&)> ended);

/// Removes the variables of an MPI job or Slurm step that Slipway itself runs in. Programs that it starts must not join
/// that job.
void LeaveMpiJob(Environment& environment);

}  // namespace slipway::launcher
