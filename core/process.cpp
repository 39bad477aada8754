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
#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/log.h"

extern char** environ;

namespace slipway {
namespace fs = std::filesystem;

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

struct StatFields {
  char state = '?';
  pid_t group = 0;
  std::uint64_t start_time = 0;

  bool Ended() const { return state == 'Z' || state == 'X'; }
};

/// Fields 3, 5 and 22 of /proc/PID/stat; the command in field 2 may hold anything, so count from the last ')'.
std::optional<StatFields> ReadStat(pid_t pid) {
  const UniqueFd fd(::open(fmt::format("/proc/{}/stat", pid).c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return {};
  char buffer[1024];
  const ssize_t count = ::read(fd.get(), buffer, sizeof buffer - 1);
  if (count <= 0) return {};
  std::string_view text(buffer, static_cast<std::size_t>(count));
  const auto end_of_name = text.rfind(')');
  if (end_of_name == std::string_view::npos || end_of_name + 2 >= text.size()) return {};
  text.remove_prefix(end_of_name + 2);
  StatFields fields;
  fields.state = text.front();
  for (int field = 3; field < 22; ++field) {
    const auto space = text.find(' ');
    if (space == std::string_view::npos) return {};
    text.remove_prefix(space + 1);
    if (field + 1 == 5) fields.group = static_cast<pid_t>(std::strtol(text.data(), nullptr, 10));
  }
  fields.start_time = std::strtoull(std::string(text.substr(0, text.find(' '))).c_str(), nullptr, 10);
  return fields;
}

const std::string& BootId() {
  static const std::string id = [] {
    auto text = ReadFileIfPresent("/proc/sys/kernel/random/boot_id").value_or("");
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
  }();
  return id;
}

}  // namespace

ProcessIdentity IdentityOf(pid_t pid) {
  const auto fields = ReadStat(pid);
  return {pid, fields ? fields->start_time : 0, BootId()};
}

bool IsAlive(const ProcessIdentity& identity) {
  if (identity.boot_id != BootId() || identity.start_time == 0) return false;
  const auto fields = ReadStat(static_cast<pid_t>(identity.pid));
  return fields && fields->start_time == identity.start_time && !fields->Ended();
}

Json ToJson(const ProcessIdentity& identity) {
  return Json{{"pid", identity.pid}, {"start_time", identity.start_time}, {"boot_id", identity.boot_id}};
}

ProcessIdentity ProcessIdentityFromJson(const Json& json) {
  return {json.value("pid", std::int64_t{0}), json.value("start_time", std::uint64_t{0}),
          json.value("boot_id", std::string())};
}

std::string HostName() {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0) return "localhost";
  return name;
}

Environment Environment::Inherited() {
  Environment environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.entries_.emplace_back(*entry);
  return environment;
}

namespace {

bool Names(std::string_view entry, std::string_view name) {
  return entry.size() > name.size() && entry[name.size()] == '=' && entry.substr(0, name.size()) == name;
}

}  // namespace

Environment& Environment::Set(std::string_view name, std::string_view value) {
  Unset(name);
  entries_.push_back(fmt::format("{}={}", name, value));
  return *this;
}

Environment& Environment::Unset(std::string_view name) {
  std::erase_if(entries_, [&](const std::string& entry) { return Names(entry, name); });
  return *this;
}

std::optional<std::string> Environment::Get(std::string_view name) const {
  for (const auto& entry : entries_) {
    if (Names(entry, name)) return entry.substr(name.size() + 1);
  }
  return {};
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
  const int code = ::posix_spawnp(&pid, argv[0], &settings.actions, &settings.attributes, argv.data(), environment);
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
  if (pid_ <= 0 || status_) return;  // a reaped number may belong to somebody else by now
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

/// True while a member runs. kill(2) alone would also see zombies, and in a container nobody may ever reap them.
bool GroupLives(pid_t group) {
  if (::kill(-group, 0) != 0) return false;
  std::error_code error;
  for (fs::directory_iterator entry("/proc", error), end; entry != end; entry.increment(error)) {
    const pid_t pid = std::atoi(entry->path().filename().c_str());
    const auto fields = pid > 0 ? ReadStat(pid) : std::nullopt;
    if (fields && fields->group == group && !fields->Ended()) return true;
  }
  return false;
}

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

/// Takes what is there; false at the end of the pipe.
bool Drain(int fd, std::string& into) {
  char buffer[1 << 16];
  const ssize_t count = ::read(fd, buffer, sizeof buffer);
  if (count > 0) into.append(buffer, static_cast<std::size_t>(count));
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

std::optional<fs::path> FindProgram(std::string_view name) {
  const auto executable = [](const fs::path& path) {
    std::error_code error;
    return fs::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
  };
  if (name.find('/') != std::string_view::npos) {
    if (executable(name)) return fs::absolute(name);
    return {};
  }
  const char* path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "/usr/bin:/bin";
  while (!rest.empty()) {
    const auto colon = rest.find(':');
    const auto directory = rest.substr(0, colon);
    if (!directory.empty() && executable(fs::path(directory) / name)) return fs::path(directory) / name;
    rest = colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 1);
  }
  return {};
}

std::string QuoteForShell(const std::vector<std::string>& words) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
  std::string line;
  for (const auto& word : words) {
    if (!line.empty()) line += ' ';
    const bool assignment = &word == words.data() && word.find('=') != std::string::npos;
    if (!word.empty() && !assignment && word.find_first_not_of(plain) == std::string::npos) {
      line += word;
      continue;
    }
    line += '\'';
    for (const char c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
  return line;
}

}  // namespace slipway
