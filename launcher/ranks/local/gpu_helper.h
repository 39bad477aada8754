/// A process that asks the driver of this node's GPUs: libexec/slipway/slipway-gpus.
///
/// The driver may block each call for minutes, without a reaction to signals. In a process of its own it blocks no one
/// else.
#pragma once

#include <signal.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "core/lines.h"
#include "core/process.h"

namespace slipway::launcher {

/// The process alone, for who passes on what it says.
class GpuHelperProcess {
 public:
  /// `arguments`: launcher/run/context/helper/slipway_gpus.cpp. Errors: SystemError, when it cannot be started.
  GpuHelperProcess(const std::vector<std::string>& arguments, int input, int output);
  GpuHelperProcess(const GpuHelperProcess&) = delete;
  GpuHelperProcess& operator=(const GpuHelperProcess&) = delete;
  /// Kills it, and does not wait for its end.
  ~GpuHelperProcess();

  /// Becomes readable when it ends.
  int pidfd() const { return process_->pidfd(); }
  void Kill() { process_->Signal(SIGKILL); }
  /// How it ended; nothing while it runs.
  std::optional<ExitStatus> TryStatus() { return process_->TryWait(); }
  /// The same. Waits some milliseconds for the end.
  std::optional<ExitStatus> Status();

 private:
  std::optional<ChildProcess> process_;
};

class GpuHelper {
 public:
  /// As of a GpuHelperProcess.
  explicit GpuHelper(const std::vector<std::string>& arguments);

  /// Readable with an answer, and at the end of its output.
  int fd() const { return output_.get(); }
  /// Takes what has come, without waiting. Returns the last whole line of it, if any.
  std::optional<std::string> TakeAnswer();
  /// True after the end of its output.
  bool at_end() const { return at_end_; }
  /// Requests its last answer, and waits at most `limit` for the end of its output. Returns the last whole line.
  std::optional<std::string> Finish(std::chrono::nanoseconds limit);
  /// How it ended, after the end of its output; nothing while it runs.
  std::optional<ExitStatus> Status() { return process_->Status(); }

 private:
  void ReadAll();

  std::optional<GpuHelperProcess> process_;
  UniqueFd input_;  ///< its end requests the last answer
  UniqueFd output_;
  LineBuffer lines_;
  bool at_end_ = false;
};

/// The names of this node's GPUs ("NVIDIA H200"); none without a driver that answers in time. Cost: a process, and the
/// start of NVML, up to some seconds; nothing where neither the system has NVIDIA's driver nor a variable names GPUs.
std::vector<std::string> NamesOfGpus();

}  // namespace slipway::launcher
