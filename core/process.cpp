#include "core/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "core/clock.h"
#include "core/descriptor_limit.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json_fields.h"
#include "core/log.h"

extern char** environ;

namespace slipway {
namespace fs = std::filesystem;

template <class Visitor, MaybeConst<ExitStatus> Struct>
void Visit(Visitor& visit, Struct& status) {
  visit("exit_code", status.code);
  visit("signal", status.signal);
}

void WriteValue(Json& place, const ExitStatus& status) {
  FieldWriter write(place);
  Visit(write, status);
}

void ReadValue(const JsonPlace& place, ExitStatus& status) {
  FieldReader read(place);
  Visit(read, status);
}

ExitStatus ExitStatus::FromWait(int wait_status) {
  if (WIFSIGNALED(wait_status)) return {0, WTERMSIG(wait_status)};
  return {WEXITSTATUS(wait_status), 0};
}

std::string ExitStatus::Describe() const {
  if (signal == 0) return fmt::format("exit status {}", code);
  const char* name = ::sigabbrev_np(signal);
  return name != nullptr ? fmt::format("signal {} (SIG{})", signal, name) : fmt::format("signal {}", signal);
}

namespace {

std::vector<char*> Pointers(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (const auto& word : words) pointers.push_back(const_cast<char*>(word.c_str()));  // the API lacks const
  pointers.push_back(nullptr);
  return pointers;
}

/// posix_spawn's two settings objects, released together.
struct SpawnSettings {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  std::vector<UniqueFd> moved;

  SpawnSettings() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }

  void SetDescriptors(const SpawnOptions& options) {
    int first_free = 3;
    for (const auto& [ours, theirs] : options.inherited) first_free = std::max(first_free, theirs + 1);
    // A source below `first_free` is moved away first, else an earlier dup2 could overwrite it.
    const auto source = [&](int fd) { return fd < first_free ? MovedAway(fd, first_free) : fd; };
    if (options.stdin_fd >= 0) {
      posix_spawn_file_actions_adddup2(&actions, source(options.stdin_fd), 0);
    } else {
      posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    }
    if (options.stdout_fd >= 0) posix_spawn_file_actions_adddup2(&actions, source(options.stdout_fd), 1);
    if (options.stderr_fd >= 0) posix_spawn_file_actions_adddup2(&actions, source(options.stderr_fd), 2);
    for (const auto& [ours, theirs] : options.inherited) {
      posix_spawn_file_actions_adddup2(&actions, source(ours), theirs);
    }
    if (!options.working_directory.empty()) {
      posix_spawn_file_actions_addchdir_np(&actions, options.working_directory.c_str());
    }
  }

  int MovedAway(int fd, int first_free) {
    moved.emplace_back(CheckErrno(::fcntl(fd, F_DUPFD_CLOEXEC, first_free), "cannot pass a descriptor to a child"));
    return moved.back().get();
  }

  void SetSignalsAndGroup(ProcessGroup group) {
    short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    sigset_t all;
    sigfillset(&all);
    posix_spawnattr_setsigdefault(&attributes, &all);
    if (group == ProcessGroup::kOwn) {
      posix_spawnattr_setpgroup(&attributes, 0);
      flags |= POSIX_SPAWN_SETPGROUP;
    }
    if (group == ProcessGroup::kOwnSession) flags |= POSIX_SPAWN_SETSID;
    posix_spawnattr_setflags(&attributes, flags);
  }
};

UniqueFd OpenPidfd(pid_t pid) { return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))); }

}  // namespace

ChildProcess ChildProcess::Spawn(const SpawnOptions& options) {
  if (options.argv.empty()) throw Error(ErrorKind::kInternal, "a child process was started without a program");
  SpawnSettings settings;
  settings.SetDescriptors(options);
  settings.SetSignalsAndGroup(options.group);
  const auto argv = Pointers(options.argv);
  const auto own_environment = options.environment ? Pointers(options.environment->entries()) : std::vector<char*>();
  char* const* environment = options.environment ? own_environment.data() : environ;

  pid_t pid = -1;
  const int code = [&] {
    const DescriptorLimitOfChildren limit;
    return ::posix_spawnp(&pid, argv[0], &settings.actions, &settings.attributes, argv.data(), environment);
  }();
  if (code != 0) {
    throw SystemError(code, fmt::format("cannot start '{}'", options.argv[0]),
                      "check the spelling, that it is executable, and that the working directory exists");
  }
  log::Debug("started process {}: {}", pid, QuoteForShell(options.argv));
  auto pidfd = OpenPidfd(pid);
  if (!pidfd) {
    const int saved = errno;
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    throw SystemError(saved, "cannot watch a child process (pidfd_open)", "Linux 5.3 or newer is needed");
  }
  return ChildProcess(pid, std::move(pidfd), options.group);
}

ChildProcess::ChildProcess(pid_t pid, UniqueFd pidfd, ProcessGroup group)
    : pid_(pid), pidfd_(std::move(pidfd)), group_(group) {}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      pidfd_(std::move(other.pidfd_)),
      group_(other.group_),
      status_(std::exchange(other.status_, std::nullopt)) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  if (this != &other) {
    Abandon();
    pid_ = std::exchange(other.pid_, -1);
    pidfd_ = std::move(other.pidfd_);
    group_ = other.group_;
    status_ = std::exchange(other.status_, std::nullopt);
  }
  return *this;
}

ChildProcess::~ChildProcess() { Abandon(); }

void ChildProcess::Abandon() noexcept {
  if (pid_ > 0 && !status_) {
    Signal(SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  pid_ = -1;
}

void ChildProcess::Signal(int signal) const {
  if (pid_ <= 0 || status_) return;  // a reaped number may belong to another process by now
  ::kill(group_ == ProcessGroup::kInherited ? pid_ : -pid_, signal);
}

std::optional<ExitStatus> ChildProcess::TryWait() {
  if (status_ || pid_ <= 0) return status_;
  int wait_status = 0;
  const pid_t ended = ::waitpid(pid_, &wait_status, WNOHANG);
  if (ended == pid_) status_ = ExitStatus::FromWait(wait_status);
  if (ended < 0 && errno == ECHILD) status_ = ExitStatus{255, 0};  // reaped behind our back
  return status_;
}

namespace {

/// Gives the rest of a group whose leader is gone until `deadline` to end, then kills it.
/// The kernel has no event for the end of a group, so this looks; its number stays taken while a member is there.
void EndGroup(pid_t group, SteadyTime deadline) {
  while (GroupLives(group)) {
    if (SystemClock().Steady() >= deadline) {
      ::kill(-group, SIGKILL);
      return;
    }
    SystemClock().Sleep(std::chrono::milliseconds(10));
  }
}

}  // namespace

ExitStatus ChildProcess::Wait() {
  while (true) {
    if (const auto status = WaitFor(std::chrono::hours(24))) return *status;
  }
}

std::optional<ExitStatus> ChildProcess::WaitFor(std::chrono::nanoseconds limit) {
  const auto deadline = SystemClock().Steady() + limit;
  while (!TryWait()) {
    const auto left = deadline - SystemClock().Steady();
    if (left <= std::chrono::nanoseconds(0)) return {};
    pollfd watch{pidfd_.get(), POLLIN, 0};
    const auto millis = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    ::poll(&watch, 1, static_cast<int>(std::min<long long>(millis, 1'000'000)));
  }
  return status_;
}

ExitStatus ChildProcess::End(std::chrono::nanoseconds grace) {
  const auto deadline = SystemClock().Steady() + grace;
  Signal(SIGTERM);
  if (!WaitFor(grace)) {
    Signal(SIGKILL);
    return Wait();
  }
  if (group_ == ProcessGroup::kOwn) EndGroup(pid_, deadline);
  return *status_;
}

void ChildProcess::Release() { pid_ = -1; }

namespace {

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

Pipe MakePipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) ThrowErrno("cannot create a pipe");
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

/// A program gone wild must not fill our memory too.
constexpr std::size_t kMostCaptured = 256u << 20;

/// Takes what is there, and keeps it up to kMostCaptured; false at the end of the pipe.
bool Drain(int fd, std::string& into) {
  char buffer[1 << 16];
  const ssize_t count = ::read(fd, buffer, sizeof buffer);
  if (count > 0) into.append(buffer, std::min(static_cast<std::size_t>(count), kMostCaptured - into.size()));
  return count > 0 || (count < 0 && errno == EINTR);
}

/// Reads both pipes until both end or the deadline passes; false when it passed.
bool DrainBoth(Pipe& output, Pipe& errors, Captured& captured, SteadyTime deadline) {
  while (output.read || errors.read) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - SystemClock().Steady()).count();
    if (left <= 0) return false;
    pollfd watches[2] = {{output.read.get(), POLLIN, 0}, {errors.read.get(), POLLIN, 0}};
    if (::poll(watches, 2, static_cast<int>(std::min<long long>(left, 1'000'000))) <= 0) continue;
    if (watches[0].revents != 0 && !Drain(output.read.get(), captured.output)) output.read.Reset();
    if (watches[1].revents != 0 && !Drain(errors.read.get(), captured.errors)) errors.read.Reset();
  }
  return true;
}

}  // namespace

Captured RunAndCapture(SpawnOptions options, std::chrono::nanoseconds limit) {
  auto output = MakePipe();
  auto errors = MakePipe();
  options.stdout_fd = output.write.get();
  options.stderr_fd = errors.write.get();
  const auto deadline = SystemClock().Steady() + limit;
  auto child = ChildProcess::Spawn(options);
  output.write.Reset();
  errors.write.Reset();

  Captured captured;
  captured.timed_out = !DrainBoth(output, errors, captured, deadline);
  if (!captured.timed_out) {
    const auto status = child.WaitFor(std::max(deadline - SystemClock().Steady(), std::chrono::nanoseconds(1)));
    captured.timed_out = !status;
  }
  if (captured.timed_out) child.Signal(SIGKILL);
  captured.status = child.Wait();
  return captured;
}

}  // namespace slipway
