/// The manager's end of a supervisor, the process that starts and watches programs.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/event_loop.h"
#include "core/lines.h"
#include "core/process.h"
#include "launcher/ranks/local/start_patience.h"
#include "launcher/ranks/local/supervisor_host.h"

namespace slipway::launcher {

struct ProgramStart {
  const std::vector<std::string>& command;
  const Environment& environment;
  const std::filesystem::path& working_directory;  ///< empty: ours
  const std::filesystem::path& log_directory;      ///< gets rank-00000.log and, at the end, rank-00000.exit
  const std::vector<int>& cores;                   ///< it may run on these; empty: all that this process may
  std::chrono::milliseconds grace;                 ///< between SIGTERM and SIGKILL
};

struct SupervisedEnd {
  ExitStatus status = {};    ///< SIGKILL also when the supervisor was killed: the kernel then kills its programs
  int start_error = 0;       ///< errno when it could not be executed
  std::string trouble = {};  ///< why its host is lost, and the program with it; else empty
  pid_t pid = 0;             ///< its process; 0 when unknown
  bool was_ordered = true;   ///< false: no start was ordered
};

struct SupervisedProgram {
  std::uint64_t id = 0;
  ProcessIdentity supervisor;
};

/// Starts programs through one small process, at no more than each program's own start cost. See
/// launcher/ranks/supervisor/protocol.h. Call it only from the loop's thread.
class Supervisor {
 public:
  /// The process is started with the first program. One that has not answered the order to start a program after
  /// `start_patience` is ended.
  explicit Supervisor(EventLoop& loop, std::unique_ptr<SupervisorHost> host = SupervisorHere(),
                      std::chrono::milliseconds start_patience = kStartPatience);
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;
  ~Supervisor();

  using Ended = std::function<void(const SupervisedEnd&)>;

  /// The supervisor's process. When it ends, all its programs end, too. A process that is gone is started again.
  /// Errors: Error(kEnvironment) when it cannot be started, or its host is lost.
  ProcessIdentity SupervisorIdentity();
  /// Prepares a program that Go starts; until then no process of it exists. `ended` is called once, from the loop.
  /// Errors: those of SupervisorIdentity.
  SupervisedProgram Prepare(const ProgramStart& start, Ended ended);
  void Go(std::uint64_t id);
  /// Sends a signal to the program's group, after Go.
  void Signal(std::uint64_t id, int number);
  void Stop(std::uint64_t id);
  /// Sends SIGKILL to its group; returns when it has ended. `ended` is not called.
  void KillNow(std::uint64_t id);
  /// Abandons the supervisor's process, and kills it where possible. All its programs end with it. The loop calls each
  /// `ended`.
  void End();
  /// The name of the machine that the programs run on.
  std::string HostName() const { return host_->HostName(); }

 private:
  struct Watched {
    std::string order;  // to start it; empty when it was given
    Ended ended;
    SteadyTime ordered = {};
    pid_t pid = 0;  // once it is known to run
  };
  struct Line {
    std::string word;
    std::uint64_t id = 0;
    int first = 0;
    int second = 0;
    std::string trouble = {};
  };

  void Begin();
  /// False when the supervisor is not connected.
  bool Send(const std::string& strings) const;
  void SendOrder(const char* order, std::uint64_t id, const std::string& argument = {}) const;
  bool Receive(std::chrono::milliseconds patience);
  /// Waits for the program's last line; other lines are delivered later. False when the supervisor is gone.
  bool AwaitEnd(std::uint64_t id);
  void TakeLine(std::string_view text);
  void WatchStarts();
  void DeliverSoon();
  void Deliver();
  void Gone();
  void Conclude(std::uint64_t id, SupervisedEnd end);

  EventLoop& loop_;
  std::unique_ptr<SupervisorHost> host_;
  std::chrono::milliseconds start_patience_;
  UniqueFd socket_;
  LineBuffer unread_;
  std::vector<Line> lines_;  ///< received and not yet delivered
  std::optional<EventLoop::TimerId> deliver_;
  std::optional<EventLoop::TimerId> patience_;
  std::map<std::uint64_t, Watched> programs_;
  std::uint64_t next_id_ = 1;
};

}  // namespace slipway::launcher
