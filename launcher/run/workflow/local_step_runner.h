/// Runs steps as processes of this machine, as many at once as fit.
#pragma once

#include <map>
#include <vector>

#include "core/event_loop.h"
#include "launcher/ranks/local/node_devices.h"
#include "launcher/run/workflow/step_runner.h"

namespace slipway::launcher {

/// What this machine has for steps.
struct MachineResources {
  int cpus = 1;
  NodeDevices devices;
  Bytes memory;           ///< that is left
  Bytes all_memory = {};  ///< 0: not known
};
MachineResources ResourcesOfThisMachine();

/// Why a step can never start on a machine, in the words of StepRunner::WhyNever; empty: it can.
std::string WhyNeverOn(const MachineResources& machine, const StepResources& resources);
/// What it asks for that the machine does not have, in all; empty: nothing. Such a step runs alone.
std::string WhyAloneOn(const MachineResources& machine, const StepResources& resources);

/// Each step is a process group of its own. A step that wants more cores or memory than are free runs alone. One that
/// wants more GPUs than the machine has never runs.
class LocalStepRunner : public StepRunner {
 public:
  LocalStepRunner(EventLoop& loop, MachineResources machine);
  ~LocalStepRunner() override;

  bool Fits(const StepResources& resources) const override;
  std::string WhyNever(const StepResources& resources) const override;
  GpuHold HoldGpus(int count, const std::string& holder) const override;
  ProcessIdentity Start(const StepLaunch& launch, GpuHold gpus) override;
  void Stop(StepIndex step) override;
  void KillAll() override;
  /// Passes a signal on to the programs of all steps.
  void SignalAll(int signal);

 private:
  struct Running {
    ChildProcess process;
    StepResources resources;
    std::vector<std::string> devices;
    GpuHold gpus;  ///< of a program that is no run
    std::chrono::seconds grace;
    std::function<bool(int signal)> signal_manager;
    std::optional<EventLoop::TimerId> limit = {};
    std::optional<EventLoop::TimerId> kill = {};
    bool timed_out = false;
    bool stopped = false;
  };

  NodeDevices TakeDevices(const std::vector<std::string>& names);
  static void Signal(const Running& running, int signal);
  void End(StepIndex step);
  void Look(StepIndex step);

  EventLoop& loop_;
  MachineResources machine_;
  int free_cpus_;
  std::uint64_t free_memory_;
  std::vector<std::string> free_devices_;
  std::map<StepIndex, Running> running_;
};

}  // namespace slipway::launcher
