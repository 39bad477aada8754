#include "launcher/supervisor/program.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "launcher/shim/exit_record.h"
#include "launcher/shim/protocol.h"

namespace slipway::supervisor {
namespace {

constexpr int kGate = SIGUSR1;

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

/// The supervisor blocks all signals that matter here, so none is lost before this is reached.
void WaitAtGate() {
  sigset_t awaited;
  sigemptyset(&awaited);
  sigaddset(&awaited, kGate);
  sigaddset(&awaited, SIGTERM);
  siginfo_t info;
  int signal = 0;
  do signal = sigwaitinfo(&awaited, &info);
  while (signal < 0 && errno == EINTR);
  if (signal != kGate) _exit(shim::kNotRun);
}

void LetSignalsIn() {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

bool GoTo(const char* directory) { return directory[0] == '\0' || chdir(directory) == 0; }

bool PrintInto(int log) { return log >= 0 && dup2(log, STDOUT_FILENO) >= 0 && dup2(log, STDERR_FILENO) >= 0; }

/// Returns only when it cannot, with errno.
void Execute(const Request& request) {
  if (!GoTo(request.directory) || !PrintInto(shim::OpenRankLog(request.folder, 0))) return;
  LetSignalsIn();
  environ = const_cast<char**>(request.variables.data());  // execvp looks on the program's PATH
  execvp(request.words.front(), request.words.data());
}

[[noreturn]] void Become(const Request& request, pid_t supervisor, int errors) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != supervisor) _exit(shim::kNotRun);  // it died before the line above
  setpgid(0, 0);
  BindToCores(request.cores);
  WaitAtGate();
  Execute(request);
  const StartError report{getpid(), errno};
  (void)!write(errors, &report, sizeof report);
  _exit(report.error == ENOENT ? 127 : 126);
}

}  // namespace

pid_t Fork(const Request& request, int errors) {
  const pid_t supervisor = getpid();
  const pid_t pid = fork();
  if (pid == 0) Become(request, supervisor, errors);
  if (pid > 0) setpgid(pid, pid);  // both sides do it, so that the group exists whoever comes first
  return pid;
}

void Release(Program& program) {
  program.released = true;
  kill(program.pid, kGate);
}

}  // namespace slipway::supervisor
