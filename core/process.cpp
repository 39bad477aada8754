#include "core/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <sstream>

#include "core/clock.h"
#include "core/descriptor_limit.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json_fields.h"
#include "core/log.h"

extern char** environ;

/// ThreadSanitizer counts the functions of a thread. Those that a new process does not leave would stay there.
#define SLIPWAY_MAY_NOT_RETURN __attribute__((no_sanitize("thread")))

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

/// The files that may be the program, in the order of PATH.
std::vector<std::string> PlacesOf(const std::string& program) {
  if (program.empty() || program.find('/') != std::string::npos) return {program};
  const char* path = std::getenv("PATH");
  std::istringstream directories(path != nullptr ? path : "/bin:/usr/bin");
  std::vector<std::string> places;
  for (std::string directory; std::getline(directories, directory, ':');) {
    places.push_back(directory.empty() ? "./" + program : directory + "/" + program);
  }
  return places;
}

struct Started {
  pid_t pid;
  int error;  ///< errno; 0: it has become the program
};

/// A process between clone() and its program. It has the memory of this one, whose calling thread sleeps meanwhile: it
/// must neither allocate nor lock. Its signals, limits, descriptors and directory are its own: they are changed by
/// system calls, because functions of a library may note them as those of this process.
class Birth {
 public:
  explicit Birth(const SpawnOptions& options)
      : options_(options),
        places_(PlacesOf(options.argv.front())),
        place_pointers_(Pointers(places_)),
        argv_(Pointers(options.argv)),
        own_environment_(options.environment ? Pointers(options.environment->entries()) : std::vector<char*>()),
        environment_(options.environment ? own_environment_.data() : environ) {
    ChooseDescriptors();
  }

  /// As posix_spawn, which cannot set limits.
  Started Start() {
    constexpr std::size_t kStackBytes = 64 << 10;
    const auto stack = std::make_unique<char[]>(kStackBytes);
    sigset_t all, before;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);  // no handler may run in the shared memory
    const pid_t pid = ::clone(Become, stack.get() + kStackBytes, CLONE_VM | CLONE_VFORK | SIGCHLD, this);
    const int error = pid < 0 ? errno : error_;
    if (pid > 0 && error != 0) ::waitpid(pid, nullptr, 0);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return {pid, error};
  }

 private:
  void ChooseDescriptors() {
    int first_free = 3;
    for (const auto& [ours, theirs] : options_.inherited) first_free = std::max(first_free, theirs + 1);
    // A source below `first_free` is moved away first, else an earlier dup2 could overwrite it.
    const auto give = [&](int ours, int theirs) {
      if (ours < first_free) {
        const int fd = ::fcntl(ours, F_DUPFD_CLOEXEC, first_free);
        moved_.emplace_back(CheckErrno(fd, "cannot pass a descriptor to a child"));
        ours = fd;
      }
      descriptors_.emplace_back(ours, theirs);
    };
    if (options_.stdin_fd < 0) moved_.push_back(OpenFile("/dev/null", O_RDONLY));
    give(options_.stdin_fd < 0 ? moved_.back().get() : options_.stdin_fd, 0);
    if (options_.stdout_fd >= 0) give(options_.stdout_fd, 1);
    if (options_.stderr_fd >= 0) give(options_.stderr_fd, 2);
    for (const auto& [ours, theirs] : options_.inherited) give(ours, theirs);
  }

  /// In the new process.
  SLIPWAY_MAY_NOT_RETURN static int Become(void* birth) {
    auto& self = *static_cast<Birth*>(birth);
    if (self.TakeGroup() && self.TakeDescriptors() && self.TakeDirectory()) {
      ResetDescriptorLimit();
      TakeSignals();
      self.error_ = self.TryPlaces();
    } else {
      self.error_ = errno;
    }
    ::_exit(127);
  }

  bool TakeGroup() const {
    if (options_.group == ProcessGroup::kOwn) return ::setpgid(0, 0) == 0;
    return options_.group != ProcessGroup::kOwnSession || ::setsid() >= 0;
  }

  bool TakeDescriptors() const {
    for (const auto& [ours, theirs] : descriptors_) {
      if (::syscall(SYS_dup3, ours, theirs, 0) < 0) return false;
    }
    return true;
  }

  bool TakeDirectory() const {
    return options_.working_directory.empty() || ::chdir(options_.working_directory.c_str()) == 0;
  }

  /// The handlers first: a signal may wait.
  static void TakeSignals() {
    constexpr std::size_t kMaskBytes = 8;
    const unsigned long by_default[8] = {};  // the kernel's struct sigaction, or more
    for (int signal = 1; signal <= static_cast<int>(8 * kMaskBytes); ++signal) {
      ::syscall(SYS_rt_sigaction, signal, by_default, nullptr, kMaskBytes);
    }
    const unsigned long none[2] = {};
    ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, none, nullptr, kMaskBytes);
  }

  /// As execvpe does, but a file without an interpreter is no script. Returns why no place has a program.
  SLIPWAY_MAY_NOT_RETURN int TryPlaces() const {
    int error = ENOENT;
    for (char* const* place = place_pointers_.data(); *place != nullptr; ++place) {
      ::execve(*place, argv_.data(), environment_);
      if (!MayBeElsewhere(errno)) return errno;
      if (error != EACCES) error = errno;
    }
    return error;
  }

  /// Whether the error speaks of one place only. Folders of file servers that are gone answer ESTALE, ENODEV and
  /// ETIMEDOUT. A folder of PATH may be too long by itself.
  static bool MayBeElsewhere(int error) {
    switch (error) {
      case ENOENT:
      case ENOTDIR:
      case EACCES:
      case ESTALE:
      case ENODEV:
      case ETIMEDOUT:
      case ENAMETOOLONG: return true;
      default: return false;
    }
  }

  const SpawnOptions& options_;
  std::vector<std::string> places_;
  std::vector<char*> place_pointers_;
  std::vector<char*> argv_;
  std::vector<char*> own_environment_;
  char* const* environment_;
  std::vector<UniqueFd> moved_;
  std::vector<std::pair<int, int>> descriptors_;  ///< (ours, its number in the program)
  int error_ = 0;                                 ///< errno of the new process
};

UniqueFd OpenPidfd(pid_t pid) { return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))); }

}  // namespace

ChildProcess ChildProcess::Spawn(const SpawnOptions& options) {
  if (options.argv.empty()) throw Error(ErrorKind::kInternal, "a child process was started without a program");
  const auto started = Birth(options).Start();
  if (started.error != 0) {
    throw SystemError(started.error, fmt::format("cannot start '{}'", options.argv[0]),
                      "check the spelling, that it is executable, and that the working directory exists");
  }
  const pid_t pid = started.pid;
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

Pipe MakePipe() {
  int ends[2];
  CheckErrno(::pipe2(ends, O_CLOEXEC), "cannot create a pipe");
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

namespace {

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
