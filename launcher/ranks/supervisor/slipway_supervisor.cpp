// slipway-supervisor: starts programs for the launcher and watches over them. See protocol.h.

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <initializer_list>
#include <optional>

#include "launcher/ranks/shim/ending.h"
#include "launcher/ranks/shim/strays.h"
#include "launcher/ranks/supervisor/program.h"
#include "launcher/ranks/supervisor/protocol.h"

namespace {

using namespace slipway::supervisor;
using slipway::shim::ProgramEnd;

constexpr int kTellStartsAfterMs = 20;

[[noreturn]] void Fail(const char* what) {
  fprintf(stderr, "slipway-supervisor: %s: %s\n", what, strerror(errno));
  exit(1);
}

int TakeSignals() {
  sigset_t mask;
  sigemptyset(&mask);
  for (const int signal : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2}) sigaddset(&mask, signal);
  sigprocmask(SIG_BLOCK, &mask, nullptr);
  sigdelset(&mask, SIGUSR1);  // a batch system means the programs by these
  sigdelset(&mask, SIGUSR2);
  const int fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
  if (fd < 0) Fail("cannot watch signals");
  return fd;
}

class Supervisor {
 public:
  explicit Supervisor(int manager) : manager_(manager), signals_(TakeSignals()) {
    fcntl(manager_, F_SETFD, FD_CLOEXEC);
    slipway::shim::AdoptOrphans();
  }

  void Run() {
    while (!programs_.empty() || (manager_there_ && !leaving_)) Step();
    Flush();
  }

 private:
  void Step() {
    const short wanted = static_cast<short>(unsent_.empty() ? POLLIN : POLLIN | POLLOUT);
    pollfd watched[2] = {{signals_, POLLIN, 0}, {manager_there_ ? manager_ : -1, wanted, 0}};
    const int events = poll(watched, 2, MillisecondsLeft());
    if (events == 0) TellStarts();
    if (watched[0].revents != 0) TakeSignal();
    if ((watched[1].revents & ~POLLOUT) != 0) Receive();
    Flush();
    for (auto& program : programs_) program.ending.KillIfDue();
    if (any_lingers_) Reap();
  }

  int MillisecondsLeft() const {
    int least = starts_.empty() ? -1 : kTellStartsAfterMs;
    for (const auto& program : programs_) {
      const int left = program.ending.MillisecondsLeft();
      if (left >= 0 && (least < 0 || left < least)) least = left;
    }
    return least;
  }

  void TakeSignal() {
    signalfd_siginfo signal{};
    while (read(signals_, &signal, sizeof signal) == sizeof signal) {
      if (signal.ssi_signo == SIGCHLD) continue;
      leaving_ = true;
      EndAll();
    }
    Reap();
  }

  void Receive() {
    char buffer[65536];
    const ssize_t count = recv(manager_, buffer, sizeof buffer, MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count <= 0) {
      manager_there_ = false;
      return EndAll();
    }
    received_.append(buffer, static_cast<size_t>(count));
    for (std::string frame; TakeFrame(received_, frame);) {
      Request request;
      if (!ReadRequest(frame.data(), frame.size(), request)) return Misunderstand();
      Obey(request);
    }
  }

  /// Who says what is no order is no manager.
  void Misunderstand() {
    fprintf(stderr, "slipway-supervisor: what the manager says is no order\n");
    manager_there_ = false;
    EndAll();
  }

  void Obey(const Request& request) {
    if (strcmp(request.order, kStart) == 0) return Begin(request);
    const auto program =
        std::find_if(programs_.begin(), programs_.end(), [&](const Program& each) { return each.id == request.id; });
    if (program == programs_.end()) return;  // it has just ended
    const bool is_killed = strcmp(request.order, kKill) == 0 || request.signal == SIGKILL;
    if (is_killed) program->ending.Kill();
    if (!is_killed && request.signal > 0) kill(-program->pid, request.signal);
    if (strcmp(request.order, kStop) == 0) BeginEnding(*program);
  }

  void Begin(const Request& request) {
    const Started started = leaving_ ? Started{-1, ECANCELED} : Start(request);
    if (started.error != 0) return Say(kFailed, request.id, started.error);
    programs_.push_back({request.id,
                         started.pid,
                         request.folder,
                         {started.pid, request.grace_ms},
                         slipway::shim::StraySignal(SIGTERM)});
    Append(starts_, kStarted, request.id, started.pid);
  }

  void EndAll() {
    for (auto& program : programs_) BeginEnding(program);
  }

  void BeginEnding(Program& program) {
    if (program.ending.begun()) return;
    const Family family{*this, Tag(program.id)};
    program.strays.Find({program.pid, IsOfFamily, &family});
    program.ending.Begin();
    program.strays.Send({program.pid, IsOfFamily, &family});
  }

  /// What descends from a program.
  struct Family {
    const Supervisor& supervisor;
    Tag tag;
  };

  /// One without a tag may be of any program that runs, and one that becomes another program hides its tag for a
  /// moment. What is left goes with the last, so nothing outlives the supervisor.
  static bool IsOfFamily(pid_t child, const void* context) {
    const auto& [supervisor, tag] = *static_cast<const Family*>(context);
    if (supervisor.IsProgram(child)) return false;
    return supervisor.programs_.size() == 1 || HasTag(child, tag).value_or(false);
  }

  bool IsProgram(pid_t pid) const {
    return std::any_of(programs_.begin(), programs_.end(), [&](const Program& each) { return each.pid == pid; });
  }

  void Reap() {
    any_lingers_ = false;
    for (auto program = programs_.begin(); program != programs_.end();) {
      const auto end = EndOf(program->pid);
      const bool lingers = end && Lingers(*program);
      any_lingers_ = any_lingers_ || lingers;
      if (!end || lingers) {
        ++program;
      } else {
        Conclude(*program, *end);
        program = programs_.erase(program);
      }
    }
    ReapOrphans();
  }

  /// Of a child that is a zombie.
  static std::optional<ProgramEnd> EndOf(pid_t child) {
    siginfo_t info{};
    const auto id = static_cast<id_t>(child);
    if (waitid(P_PID, id, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != child) return std::nullopt;
    const bool by_itself = info.si_code == CLD_EXITED;
    return ProgramEnd{by_itself ? info.si_status : 0, by_itself ? 0 : info.si_status};
  }

  /// A shell ends at the first signal; what it has started, in its group and outside, has the whole grace time.
  bool Lingers(Program& program) const {
    if (!program.ending.InGrace()) return false;
    const Family family{*this, Tag(program.id)};
    program.strays.SendToMissed({program.pid, IsOfFamily, &family});
    return slipway::shim::AnyIsLeft({program.pid, IsOfFamily, &family});
  }

  /// Behind a program that lingers they wait.
  void ReapOrphans() const {
    siginfo_t info{};
    while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0 && !IsProgram(info.si_pid)) {
      waitpid(info.si_pid, nullptr, 0);
      info.si_pid = 0;
    }
  }

  /// Until the last line the program is a zombie, so its number and its group's number cannot be reused. A process that
  /// looks for it finds it until the record of its end exists.
  void Conclude(const Program& program, ProgramEnd end) {
    kill(-program.pid, SIGKILL);  // what it left behind in its group
    const Family family{*this, Tag(program.id)};
    slipway::shim::EndStrays({program.pid, IsOfFamily, &family}, program.folder.c_str(), 0);
    if (!program.ending.begun()) WriteExitRecord(program.folder.c_str(), 0, end);
    Say(kExited, program.id, end.code, end.signal);
    waitpid(program.pid, nullptr, 0);
  }

  template <class... Numbers>
  void Say(const char* word, unsigned long long id, Numbers... numbers) {
    TellStarts();
    Append(unsent_, word, id, numbers...);
    Flush();
  }

  /// Sends starts with the next line, since they are not urgent. A program that ends at once then wakes the manager
  /// once, not twice.
  void TellStarts() {
    unsent_ += starts_;
    starts_.clear();
  }

  template <class... Numbers>
  static void Append(std::string& lines, const char* word, unsigned long long id, Numbers... numbers) {
    lines += word;
    for (const long long number : {static_cast<long long>(id), static_cast<long long>(numbers)...}) {
      char text[24];
      snprintf(text, sizeof text, " %lld", number);
      lines += text;
    }
    lines += '\n';
  }

  /// As much as the manager takes now: one that is slow to listen must not keep us from watching.
  void Flush() {
    if (unsent_.empty()) return;
    const ssize_t count = send(manager_, unsent_.data(), unsent_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count > 0) unsent_.erase(0, static_cast<size_t>(count));
    if (count < 0 && errno != EAGAIN && errno != EINTR) unsent_.clear();  // a manager that is gone shows elsewhere
  }

  int manager_;
  int signals_;
  bool manager_there_ = true;
  bool leaving_ = false;
  bool any_lingers_ = false;
  std::vector<Program> programs_;
  std::string received_;
  std::string unsent_;
  std::string starts_;  ///< lines that may wait
};

}  // namespace

int main() {
  Supervisor(kSocket).Run();
  return 0;
}
