#include "launcher/supervisor/program.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher/shim/exit_record.h"
#include "launcher/shim/protocol.h"

namespace slipway::supervisor {
namespace {

/// Of a process before it becomes a program: execvp puts paths and, for a script without an interpreter, all words of
/// the command there.
constexpr std::size_t kStackBytes = 1 << 20;
alignas(16) char stack[kStackBytes];

/// What a new process is told, and tells: both sides have it in the same memory.
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

Started Start(const Request& request) {
  Birth birth{request, getpid(), 0};
  char** const own = environ;
  environ = const_cast<char**>(request.variables.data());  // execvp looks on the program's PATH, and passes them on
  const pid_t pid = clone(Become, stack + kStackBytes, CLONE_VM | CLONE_VFORK | SIGCHLD, &birth);
  const int error = pid < 0 ? errno : birth.error;
  environ = own;
  if (pid > 0 && error != 0) waitpid(pid, nullptr, 0);
  return {error == 0 ? pid : -1, error};
}

}  // namespace slipway::supervisor
