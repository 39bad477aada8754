/// The agent of a node: accepts shims, starts supervisors, and ends with its manager.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/event_loop.h"
#include "core/process.h"
#include "launcher/ranks/local/gpu_helper.h"
#include "launcher/ranks/local/listener.h"
#include "launcher/ranks/nodes/cross_thread_calls.h"
#include "launcher/ranks/nodes/node_link.h"
#include "launcher/ranks/nodes/node_monitor.h"
#include "launcher/ranks/nodes/streams.h"

namespace slipway::launcher {

/// This node's name in Slurm, else the host's.
std::string NodeName();

/// Not movable: the event loop holds its address.
class Agent {
 public:
  /// `sockets`: an existing folder for its listeners.
  Agent(EventLoop& loop, NodeConnection connection, std::filesystem::path sockets);
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  /// Serves the manager until the connection ends or a signal arrives. Then returns once no program that came through
  /// it runs any more.
  void Run();

 private:
  struct GpuMeter {
    std::unique_ptr<GpuHelperProcess> process;  ///< nothing while it is being started
    bool is_wanted = true;                      ///< the manager has not closed its stream
  };

  void Take(const NodeMessage& message);
  void OpenListener(const std::string& name);
  void TakeArrival(const std::string& listener, UniqueFd socket);
  void OpenSupervisor(std::uint32_t stream);
  void OpenMonitor(std::uint32_t stream, const std::string& name);
  void OpenGpuMeter(std::uint32_t stream, const std::string& arguments);
  void TakeGpuMeter(std::uint32_t stream, std::unique_ptr<GpuHelperProcess> process);
  void KillGpuMeter(std::uint32_t stream);
  void ForgetGpuMeter(std::uint32_t stream);
  void ForgetEnded();
  void AwaitPrograms();

  EventLoop& loop_;
  std::filesystem::path sockets_;
  bool leaving_ = false;
  std::uint32_t next_stream_ = 1;  ///< odd: the manager's are even
  std::map<std::string, std::unique_ptr<Listener>> listeners_;
  std::vector<ChildProcess> supervisors_;
  std::vector<std::unique_ptr<NodeMonitor>> monitors_;
  std::map<std::uint32_t, GpuMeter> gpu_meters_;  ///< by their stream
  std::vector<UniqueFd> visitors_;                ///< the processes that have come through listeners, as pidfds
  NodeLink link_;
  Streams streams_;
  CallThread starts_;  ///< of programs: their file system may take longer to answer than the manager waits for a beat
};

}  // namespace slipway::launcher
