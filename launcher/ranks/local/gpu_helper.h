/// A process that asks the driver of this node's GPUs: libexec/slipway/slipway-gpus.
///
/// The driver may block each call for minutes, without a reaction to signals. In a process of its own it blocks no one
/// else.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "core/lines.h"
#include "core/process.h"

namespace slipway::launcher {

class GpuHelper {
 public:
  /// `arguments`: launcher/run/context/helper/slipway_gpus.cpp. Errors: SystemError, when it cannot be started.
  explicit GpuHelper(const std::vector<std::string>& arguments);
  GpuHelper(const GpuHelper&) = delete;
  GpuHelper& operator=(const GpuHelper&) = delete;
  /// Kills it, and does not wait for its end.
  ~GpuHelper();

  /// Readable with an answer, and at the end of its output.
  int fd() const { return output_.get(); }
  /// Takes what has come, without waiting. Returns the last whole line of it, if any.
  std::optional<std::string> TakeAnswer();
  /// True after the end of its output.
  bool at_end() const { return at_end_; }
  /// Requests its last answer, and waits at most `limit` for the end of its output. Returns the last whole line.
  std::optional<std::string> Finish(std::chrono::nanoseconds limit);
  /// How it ended, after the end of its output; nothing while it runs.
  std::optional<ExitStatus> Status();

 private:
  void ReadAll();

  std::optional<ChildProcess> process_;
  UniqueFd input_;  ///< its end requests the last answer
  UniqueFd output_;
  LineBuffer lines_;
  bool at_end_ = false;
};

/// The names of this node's GPUs ("NVIDIA H200"); none without a driver that answers in time. Cost: a process, and the
/// start of NVML, up to some seconds.
std::vector<std::string> NamesOfGpus();

}  // namespace slipway::launcher
