/// The ranks of one job on this machine, however they are started.
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
  /// Where the shims of several ranks come in; empty: from this machine.
  std::function<std::unique_ptr<ShimListener>(EventLoop& loop, ShimListener::Arrived arrived)> shim_listener;
  /// How long several ranks may take until all stand at their gate; 0: as long as they want.
  std::chrono::milliseconds start_patience{0};
  std::vector<std::string> command;
  Environment environment;
  std::filesystem::path working_directory;
  std::vector<int> cores = {};  ///< that they may run on; empty: all that this process may
  /// Node -> the cores that several ranks share out there, so that each has its own; the ranks of other nodes are not
  /// bound. This machine is node 0.
  std::map<int, std::vector<int>> bind_to = {};
  /// Node -> what each of several ranks there finds in its environment about GPUs, in the order of the ranks. Those of
  /// other nodes see what the node shows them.
  std::map<int, std::vector<DeviceVariables>> devices_of = {};
  /// Variables of several ranks, which what starts them has not.
  std::vector<std::pair<std::string, std::string>> variables_of_ranks = {};
  /// Node -> variables that only the ranks there have.
  std::map<int, std::vector<std::pair<std::string, std::string>>> variables_on = {};
  std::filesystem::path log_directory;  ///< exists; gets rank-00000.log ... and, from mpirun, launcher.log
  std::chrono::milliseconds grace = std::chrono::seconds(5);  ///< between SIGTERM and SIGKILL
  /// Starts a single rank, if there is one, so that it needs no shim; must outlive the job.
  Supervisor* supervisor = nullptr;
  /// Hears at once which of several ranks failed first, while the others are being ended; may be empty.
  std::function<void(const std::string& what)> failed;
  /// Hears what is not as it was asked for, but stops nobody; may be empty.
  std::function<void(const std::string& what)> warned = {};
};

/// They stand at a gate until they are released. Not movable: the event loop holds the address. All calls from the
/// loop's thread.
class Ranks {
 public:
  /// Ends by SIGKILL what still runs.
  virtual ~Ranks() = default;
  /// The process that everything hangs on; leads its own process group.
  virtual ProcessIdentity leader() const = 0;
  /// Opens the gate, as soon as all ranks stand at it.
  virtual void Release() = 0;
  /// Passes a signal on to every rank's process group; nothing before the gate is open.
  virtual void Signal(int number) = 0;
  /// They are asked to save and end. One that has done so, with the wish to be queued again, no longer ends the others,
  /// who may still be saving.
  virtual void ExpectEnd() = 0;
  /// SIGTERM to every rank's process group, after the grace time SIGKILL. May be called again.
  virtual void Stop() = 0;
};

/// Starts the ranks, held at their gate. `ended` is called once, from the loop; the ranks may be destroyed after it has
/// returned, not inside it.
/// Errors: Error(kEnvironment) when nothing can be started.
std::unique_ptr<Ranks> StartRanks(EventLoop& loop, RankLaunch launch, std::function<void(const GroupOutcome&)> ended);

/// Slipway may itself run inside an MPI job or a Slurm step: what it starts must not take itself for a part of that.
void LeaveMpiJob(Environment& environment);

}  // namespace slipway::launcher
