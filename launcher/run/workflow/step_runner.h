/// The port through which a workflow starts its steps.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/environment.h"
#include "core/process.h"
#include "launcher/run/context/gpu_hold.h"
#include "launcher/workflow/workflow.h"

namespace slipway::launcher {

/// A run ends its ranks within this time; then it is killed.
inline constexpr std::chrono::seconds kGraceOfRun{60};

/// A step that is ready to start: decided, and carried out by a runner.
struct StepLaunch {
  StepIndex step = 0;
  std::string name;
  int attempt = 1;
  std::vector<std::string> argv;
  Environment environment;
  std::filesystem::path directory;  ///< where it works
  std::filesystem::path log;        ///< gets what it prints
  std::optional<Seconds> time_limit;
  std::chrono::seconds grace{5};  ///< from the request to end to SIGKILL
  StepResources resources;
  bool is_run = false;  ///< its program is a manager, which keeps the locks of its GPUs
  /// A run goes on under a manager of its own, and the program only waits for it: its GPUs.
  std::optional<std::vector<std::string>> devices = {};
  /// The same: signals that manager. False: it cannot be reached.
  std::function<bool(int signal)> signal_manager = {};
};

struct StepEnd {
  StepIndex step = 0;
  ExitStatus status;
  bool timed_out = false;
  bool stopped = false;  ///< Stop was called before the program had ended
};

/// Starts steps and reports their ends. One engine each: this machine, a batch system.
class StepRunner {
 public:
  virtual ~StepRunner() = default;

  /// Called from the event loop, never from Start.
  std::function<void(const StepEnd& end)> on_end;

  /// Whether the step could start now, beside those that run, if no other run held GPUs.
  virtual bool Fits(const StepResources& resources) const = 0;
  /// Up to `count` GPUs for a step that fits, without those of other runs. `holder`: "step a of run x".
  virtual GpuHold HoldGpus(int count, const std::string& holder) const = 0;
  /// Why the step can never start here: "it needs 2 GPUs, and this machine has none"; empty: it can.
  virtual std::string WhyNever(const StepResources& resources) const = 0;
  /// Starts the step with GPUs of HoldGpus; a run that goes on has its own. Returns the process, for those that resume
  /// after a kill; without a pid where it is elsewhere. Errors: SystemError when the program cannot be started.
  virtual ProcessIdentity Start(const StepLaunch& launch, GpuHold gpus) = 0;
  /// Asks a step to end, and enforces it after its grace time.
  virtual void Stop(StepIndex step) = 0;
  /// Ends all steps at once.
  virtual void KillAll() = 0;
};

}  // namespace slipway::launcher
