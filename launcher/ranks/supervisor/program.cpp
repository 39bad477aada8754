#include "launcher/ranks/supervisor/program.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/lines.h"
#include "launcher/ranks/shim/ending.h"
#include "launcher/ranks/shim/protocol.h"
#include "launcher/ranks/shim/strays.h"
#include "launcher/ranks/supervisor/protocol.h"

namespace slipway::supervisor {
namespace {

/// The strings of a frame, one after the other.
class Strings {
 public:
  Strings(char* at, std::size_t bytes) : at_(at), end_(at + bytes) {}

  bool AtEnd() const { return at_ >= end_; }
  char* Next() {
    static char none[] = "";
    if (AtEnd()) return none;
    char* text = at_;
    at_ += strnlen(at_, static_cast<std::size_t>(end_ - at_)) + 1;
    return text;
  }

 private:
  char* at_;
  char* end_;
};

}  // namespace

bool ReadRequest(char* frame, std::size_t bytes, Request& request) {
  Strings strings(frame, bytes);
  request.order = strings.Next();
  bool good = ParseNumber(strings.Next(), request.id);
  if (strcmp(request.order, kSignal) == 0) good = ParseNumber(strings.Next(), request.signal) && good;
  if (strcmp(request.order, kStart) != 0) return good;
  request.folder = strings.Next();
  good = ParseNumber(strings.Next(), request.grace_ms) && good;
  request.cores = strings.Next();
  request.directory = strings.Next();
  std::size_t left = 0;
  good = ParseNumber(strings.Next(), left) && left > 0 && good;
  for (; left > 0 && !strings.AtEnd(); --left) request.words.push_back(strings.Next());
  while (!strings.AtEnd()) request.variables.push_back(strings.Next());
  request.words.push_back(nullptr);
  request.variables.push_back(nullptr);
  return good && left == 0;
}

bool TakeFrame(std::string& received, std::string& frame) {
  FrameLength length = 0;
  if (received.size() < sizeof length) return false;
  memcpy(&length, received.data(), sizeof length);
  if (received.size() - sizeof length < length) return false;
  frame.assign(received, sizeof length, length);
  received.erase(0, sizeof length + length);
  return true;
}

namespace {

/// Of a process before it becomes a program: execvp puts paths and, for a script without an interpreter, all words of
/// the command there.
constexpr std::size_t kStackBytes = 1 << 20;
alignas(16) char stack[kStackBytes];

/// Data shared between the supervisor and a new process, which has the same memory.
struct Birth {
  const Request& request;
  pid_t supervisor;
  int error;
};

/// "0,1,8"; an empty text changes nothing.
void BindToCores(const char* cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  char* at = const_cast<char*>(cores);
  while (*at != '\0') {
    CPU_SET(strtoul(at, &at, 10), &set);
    if (*at != '\0') ++at;
  }
  if (CPU_COUNT(&set) > 0) sched_setaffinity(0, sizeof set, &set);
}

void LetSignalsIn() {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

bool GoTo(const char* directory) { return directory[0] == '\0' || chdir(directory) == 0; }

bool PrintInto(int log) { return log >= 0 && dup2(log, STDOUT_FILENO) >= 0 && dup2(log, STDERR_FILENO) >= 0; }

/// In the new process. The supervisor sleeps until it has become the program, or has left with an error.
int Become(void* argument) {
  auto& birth = *static_cast<Birth*>(argument);
  const Request& request = birth.request;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != birth.supervisor) _exit(shim::kNotRun);  // it died before the line above
  setpgid(0, 0);
  BindToCores(request.cores);
  if (GoTo(request.directory) && PrintInto(shim::OpenRankLog(request.folder, 0))) {
    LetSignalsIn();
    execvp(request.words.front(), request.words.data());
  }
  birth.error = errno;
  _exit(shim::kNotRun);
}

}  // namespace

namespace {

constexpr int kMostRereads = 3;
constexpr int kRereadPauseMs = 1;

/// Of another process; its end may be cut off.
std::string ReadEnvironment(pid_t process) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/environ", static_cast<int>(process));
  std::string text;
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return text;
  char buffer[16384];
  for (ssize_t count = read(fd, buffer, sizeof buffer); count > 0; count = read(fd, buffer, sizeof buffer)) {
    text.append(buffer, static_cast<std::size_t>(count));
  }
  close(fd);
  return text;
}

/// In the middle of an exec a process shows none for a moment.
std::string EnvironmentOf(pid_t process) {
  std::string text = ReadEnvironment(process);
  for (int i = 0; i < kMostRereads && text.empty() && !shim::IsZombie(process); ++i) {
    const timespec pause{0, kRereadPauseMs * 1000000L};
    nanosleep(&pause, nullptr);
    text = ReadEnvironment(process);
  }
  return text;
}

/// The tag comes first.
std::vector<char*> WithTag(const Tag& tag, const std::vector<char*>& variables) {
  std::vector<char*> all{const_cast<char*>(tag.variable())};
  for (char* variable : variables) {
    const bool is_of_another = variable != nullptr && strncmp(variable, kTagName, sizeof kTagName - 1) == 0;
    if (!is_of_another) all.push_back(variable);
  }
  return all;
}

}  // namespace

Tag::Tag(std::uint64_t id) {
  snprintf(text_, sizeof text_, "%s%d-%llu", kTagName, static_cast<int>(getpid()), static_cast<unsigned long long>(id));
}

std::optional<bool> HasTag(pid_t process, const Tag& tag) {
  const std::string environment = '\0' + EnvironmentOf(process);
  const std::size_t found = environment.find(std::string(1, '\0') + kTagName);
  if (found == std::string::npos) return std::nullopt;
  return strcmp(environment.c_str() + found + 1, tag.variable()) == 0;
}

Started Start(const Request& request) {
  Birth birth{request, getpid(), 0};
  const Tag tag(request.id);
  const auto variables = WithTag(tag, request.variables);
  char** const own = environ;
  environ = const_cast<char**>(variables.data());  // execvp looks on the program's PATH, and passes them on
  const pid_t pid = clone(Become, stack + kStackBytes, CLONE_VM | CLONE_VFORK | SIGCHLD, &birth);
  const int error = pid < 0 ? errno : birth.error;
  environ = own;
  if (pid > 0 && error != 0) waitpid(pid, nullptr, 0);
  return {error == 0 ? pid : -1, error};
}

}  // namespace slipway::supervisor
