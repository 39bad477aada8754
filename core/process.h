/// Child processes: spawn, process groups, signals, time limits, output capture.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/environment.h"
#include "core/process_identity.h"
#include "core/shell.h"
#include "core/unique_handle.h"

namespace slipway {

/// How a process ended.
struct ExitStatus {
  int code = 0;    ///< exit code; 0 when a signal ended it
  int signal = 0;  ///< the signal that ended it, or 0

  static ExitStatus FromWait(int wait_status);
  bool Success() const { return code == 0 && signal == 0; }
  /// "exit status 3", "signal 9 (SIGKILL)".
  std::string Describe() const;
  bool operator==(const ExitStatus&) const = default;
};
/// Fields of documents (core/json_fields.h): {"exit_code": 1, "signal": 0}
void WriteValue(Json& place, const ExitStatus& status);
void ReadValue(const JsonPlace& place, ExitStatus& status);

/// kOwnSession also leaves the terminal behind, so that a hang-up does not reach the child.
enum class ProcessGroup { kOwn, kOwnSession, kInherited };

struct SpawnOptions {
  std::vector<std::string> argv;                 ///< argv[0] is looked up on PATH unless it holds a '/'
  std::optional<Environment> environment{};      ///< default: inherited
  std::filesystem::path working_directory{};     ///< default: inherited
  int stdin_fd = -1;                             ///< -1: /dev/null
  int stdout_fd = -1;                            ///< -1: inherited
  int stderr_fd = -1;                            ///< -1: inherited
  std::vector<std::pair<int, int>> inherited{};  ///< (our descriptor, its number in the child)
  ProcessGroup group = ProcessGroup::kOwn;
};

/// A running child. The destructor ends what still runs (SIGKILL to its group) and reaps it.
class ChildProcess {
 public:
  /// Signal masks and handlers are reset in the child; its soft limit of descriptors is that from before
  /// RaiseDescriptorLimit(). Cost: the memory of this process is lent to the child until it has become the program.
  /// Errors: kEnvironment, naming the program, when it cannot be executed.
  static ChildProcess Spawn(const SpawnOptions& options);

  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess();

  pid_t pid() const { return pid_; }
  /// Becomes readable when the child ends.
  int pidfd() const { return pidfd_.get(); }
  /// To the child's group when it has its own, else to the child. A child that is gone is fine.
  void Signal(int signal) const;
  /// The status if it has ended, without waiting. The process is then reaped.
  std::optional<ExitStatus> TryWait();
  ExitStatus Wait();
  /// Waits at most `limit`.
  std::optional<ExitStatus> WaitFor(std::chrono::nanoseconds limit);
  /// SIGTERM, after `grace` SIGKILL, both to the group; returns when the group is empty or killed.
  ExitStatus End(std::chrono::nanoseconds grace);
  /// Leaves the child running for good; it is no longer ours.
  void Release();

 private:
  ChildProcess(pid_t pid, UniqueFd pidfd, ProcessGroup group);
  void Abandon() noexcept;

  pid_t pid_ = -1;
  UniqueFd pidfd_;
  ProcessGroup group_ = ProcessGroup::kOwn;
  std::optional<ExitStatus> status_;
};

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};
/// Children that are spawned get neither end unless SpawnOptions says so. Errors: SystemError.
Pipe MakePipe();

struct Captured {
  ExitStatus status;
  std::string output;
  std::string errors;
  bool timed_out = false;
};

/// Runs a program to its end and returns what it printed, 256 MiB of each; both pipes are drained, so it cannot block.
/// After `limit` the group is killed and `timed_out` set.
Captured RunAndCapture(SpawnOptions options, std::chrono::nanoseconds limit = std::chrono::minutes(5));

}  // namespace slipway
