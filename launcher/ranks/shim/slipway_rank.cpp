// slipway-rank: stands between the launcher and one rank of the training program. See protocol.h.
//
// Every rank starts through it, so it is one small static program without the C++ library's streams or allocation.

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
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <initializer_list>

#include "core/lines.h"
#include "launcher/ranks/shim/cores.h"
#include "launcher/ranks/shim/ending.h"
#include "launcher/ranks/shim/protocol.h"
#include "launcher/ranks/shim/strays.h"

namespace {

using namespace slipway::shim;

struct Settings {
  const char* log_directory = nullptr;
  const char* channel_path = nullptr;
  int channel = -1;
  int grace_ms = 5000;
  int own_status = 0;
  char** program = nullptr;
};

struct Rank {
  int rank = 0;
  int size = 1;
  int local = 0;
};

struct Ended {
  ProgramEnd end;
  bool by_itself;  ///< no end was requested
};

[[noreturn]] void Fail(const char* what) {
  fprintf(stderr, "slipway-rank: %s: %s\n", what, strerror(errno));
  exit(kNotRun);
}

Settings Parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--") == 0) {
      settings.program = argv + i + 1;
      break;
    }
    if (strcmp(argv[i], "--log-dir") == 0) settings.log_directory = argv[i + 1];
    if (strcmp(argv[i], "--channel-path") == 0) settings.channel_path = argv[i + 1];
    if (strcmp(argv[i], "--channel-fd") == 0) slipway::ParseNumber(argv[i + 1], settings.channel);
    if (strcmp(argv[i], "--grace-ms") == 0) slipway::ParseNumber(argv[i + 1], settings.grace_ms);
    if (strcmp(argv[i], "--own-status") == 0) slipway::ParseNumber(argv[i + 1], settings.own_status);
  }
  if (settings.program == nullptr || settings.log_directory == nullptr ||
      (settings.channel < 0 && settings.channel_path == nullptr)) {
    fprintf(stderr,
            "usage: slipway-rank --log-dir DIR (--channel-fd N | --channel-path SOCKET) [--grace-ms N]\n"
            "                    [--own-status 0|1] -- PROGRAM...\n"
            "It is started by slipway, not by hand.\n");
    exit(2);
  }
  return settings;
}

/// The first of these variables that is set; `otherwise` when none is.
int FromEnvironment(const char* const* names, int otherwise) {
  for (; *names != nullptr; ++names) {
    int number = otherwise;
    if (const char* value = getenv(*names); value != nullptr && slipway::ParseNumber(value, number)) return number;
  }
  return otherwise;
}

/// Open MPI, PMIx, MPICH's PMI and Slurm each have their names for it.
Rank FindRank() {
  const char* const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID", nullptr};
  const char* const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS", nullptr};
  const char* const locals[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID", nullptr};
  return {FromEnvironment(ranks, 0), FromEnvironment(sizes, 1), FromEnvironment(locals, 0)};
}

void SetVariable(const char* name, int value) {
  char text[16];
  snprintf(text, sizeof text, "%d", value);
  setenv(name, text, 1);
}

/// How long an agent may take to open the listener that its manager asked for before it started mpirun.
constexpr int kListenerPatienceMs = 5000;
constexpr int kListenerPauseMs = 10;

const char* NodeName() {
  static char host[256] = "";
  const char* named = getenv("SLURMD_NODENAME");
  if (named == nullptr) gethostname(host, sizeof host - 1);
  return named != nullptr ? named : host;
}

sockaddr_un AddressOf(const char* path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const char* at = strstr(path, kNodeInPath);
  const int before = at != nullptr ? static_cast<int>(at - path) : 0;
  const char* after = at != nullptr ? at + strlen(kNodeInPath) : path;
  const int length = snprintf(address.sun_path, sizeof address.sun_path, "%.*s%s%s", before, path,
                              at != nullptr ? NodeName() : "", after);
  if (length < 0 || static_cast<size_t>(length) >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    Fail("the manager's socket");
  }
  return address;
}

void NameNodeInVariables() {
  for (const char* name : kSocketVariables) {
    if (const char* path = getenv(name)) setenv(name, AddressOf(path).sun_path, 1);
  }
}

int Connect(const char* path) {
  const sockaddr_un address = AddressOf(path);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) Fail("cannot reach the manager");
  for (int waited_ms = 0; connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0;
       waited_ms += kListenerPauseMs) {
    if (errno != ENOENT || waited_ms >= kListenerPatienceMs) Fail("cannot reach the manager");
    poll(nullptr, 0, kListenerPauseMs);
  }
  return fd;
}

/// A manager that is gone shows as end of file elsewhere; here it is ignored.
template <class... Values>
void Say(int channel, const char* format, Values... values) {
  char line[512];
  const int length = snprintf(line, sizeof line, format, values...);
  if (length > 0) (void)!send(channel, line, static_cast<size_t>(length), MSG_NOSIGNAL);
}

enum class Order { kSet, kGo, kSignal, kStop, kGone };

Order OrderOf(const char* word) {
  if (strcmp(word, kSet) == 0) return Order::kSet;
  if (strcmp(word, kGo) == 0) return Order::kGo;
  return strcmp(word, kSignal) == 0 ? Order::kSignal : Order::kStop;
}

/// What the manager wants, and the rest of its line.
struct OrderLine {
  Order order = Order::kGone;
  char words[kLongestOrder] = "";
};

/// Waits for the manager's next line.
OrderLine NextOrder(int channel) {
  OrderLine line;
  size_t length = 0;
  while (length + 1 < sizeof line.words) {
    const ssize_t count = read(channel, line.words + length, 1);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return line;
    if (line.words[length] == '\n') break;
    ++length;
  }
  line.words[length] = '\0';
  char* rest = strchr(line.words, ' ');
  if (rest != nullptr) *rest++ = '\0';
  line.order = OrderOf(line.words);
  memmove(line.words, rest != nullptr ? rest : "", rest != nullptr ? strlen(rest) + 1 : 1);
  return line;
}

/// "NAME VALUE", where the value may hold spaces.
void SetFrom(char* words) {
  char* value = strchr(words, ' ');
  if (value == nullptr) return;
  *value++ = '\0';
  setenv(words, value, 1);
}

/// Waits for the gate to open. What comes before it is for the program.
OrderLine AwaitGate(int channel) {
  OrderLine line = NextOrder(channel);
  for (; line.order == Order::kSet; line = NextOrder(channel)) SetFrom(line.words);
  return line;
}

/// In the child: becomes the program. Writes errno to `report` when it cannot.
[[noreturn]] void BecomeProgram(const Settings& settings, int log, int report, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kNotRun);  // the shim died before the line above
  setpgid(0, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  execvp(settings.program[0], settings.program);
  const int code = errno;
  (void)!write(report, &code, sizeof code);
  _exit(code == ENOENT ? 127 : 126);
}

struct Started {
  pid_t pid;
  int error;  ///< errno of a failed execution, else 0
};

Started Start(const Settings& settings, int rank) {
  const int log = OpenRankLog(settings.log_directory, rank);
  int report[2];
  if (log < 0 || pipe2(report, O_CLOEXEC) != 0) Fail(settings.log_directory);
  const pid_t shim = getpid();
  const pid_t pid = fork();
  if (pid < 0) Fail("cannot fork");
  if (pid == 0) BecomeProgram(settings, log, report[1], shim);
  close(report[1]);
  close(log);
  setpgid(pid, pid);  // both sides do it, so that the group exists whichever is first
  int error = 0;
  const ssize_t count = read(report[0], &error, sizeof error);
  close(report[0]);
  return {pid, count == sizeof error ? error : 0};
}

/// Those that have ended by themselves while the program runs.
void ReapOrphans(pid_t program) {
  siginfo_t info{};
  while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0 && info.si_pid != program) {
    waitpid(info.si_pid, nullptr, 0);
    info.si_pid = 0;
  }
}

/// Who sends SIGKILL does not want to wait for what the program leaves behind either.
void PassOn(const char* number, pid_t group, Ending& ending) {
  int signal = 0;
  if (!slipway::ParseNumber(number, signal) || signal <= 0) return;
  if (signal == SIGKILL) {
    ending.Kill();
  } else {
    kill(-group, signal);
  }
}

/// All children but the program are what it has left behind.
OrphansOf Orphans(pid_t program) { return {program, nullptr, nullptr}; }

void BeginEnding(Ending& ending, StraySignal& strays, pid_t program) {
  if (ending.begun()) return;
  strays.Find(Orphans(program));
  ending.Begin();
  strays.Send(Orphans(program));
}

/// A shell ends at the first signal; what it has started, in its group and outside, has the whole grace time.
bool IsOver(pid_t pid, const Ending& ending, StraySignal& strays) {
  if (!IsZombie(pid)) return false;
  if (!ending.InGrace()) return true;
  strays.SendToMissed(Orphans(pid));
  return !AnyIsLeft(Orphans(pid));
}

/// Carries out a line of the manager.
void Obey(const OrderLine& line, int channel, pid_t pid, Ending& ending, StraySignal& strays) {
  const bool begun = ending.begun();
  line.order == Order::kSignal ? PassOn(line.words, pid, ending) : BeginEnding(ending, strays, pid);
  if (!begun && ending.begun()) Say(channel, "%s 0\n", kAsked);
}

/// Whoever sends a signal to the shim wants its program to end: mpirun and srun, or a user.
void HeedSignal(int signals, int channel, pid_t pid, Ending& ending, StraySignal& strays) {
  signalfd_siginfo signal{};
  if (read(signals, &signal, sizeof signal) != sizeof signal || signal.ssi_signo == SIGCHLD) return;
  if (!ending.begun()) Say(channel, "%s %d\n", kAsked, static_cast<int>(signal.ssi_signo));
  BeginEnding(ending, strays, pid);
}

/// Waits for the program's end; orders, signals and the manager's death end it early.
Ended Watch(pid_t pid, int channel, int signals, int grace_ms) {
  Ending ending(pid, grace_ms);
  StraySignal strays(SIGTERM);
  bool manager_there = true;
  while (!IsOver(pid, ending, strays)) {
    pollfd watched[2] = {{signals, POLLIN, 0}, {manager_there ? channel : -1, POLLIN, 0}};
    poll(watched, 2, ending.MillisecondsLeft());
    if (watched[1].revents != 0) {
      const OrderLine line = NextOrder(channel);
      if (line.order == Order::kGone) manager_there = false;
      Obey(line, channel, pid, ending, strays);
    }
    if (watched[0].revents != 0) HeedSignal(signals, channel, pid, ending, strays);
    ReapOrphans(pid);
    ending.KillIfDue();
  }
  // The program is still a zombie, so its group's number cannot be reused: kill what is left in the group.
  kill(-pid, SIGKILL);
  int wait_status = 0;
  waitpid(pid, &wait_status, 0);
  return {ProgramEnd::FromWait(wait_status), !ending.begun()};
}

int TakeSignals() {
  sigset_t mask;
  sigemptyset(&mask);
  for (const int signal : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT}) sigaddset(&mask, signal);
  sigprocmask(SIG_BLOCK, &mask, nullptr);
  const int fd = signalfd(-1, &mask, SFD_CLOEXEC);
  if (fd < 0) Fail("cannot watch signals");
  return fd;
}

/// The exit status for mpirun and srun, once the gate was open. The manager knows how the program ended, and ends the
/// other ranks. For any status but 0 Open MPI's mpirun kills their shims within 2 s: shorter than their grace time, and
/// sessions of their programs then have no one that ends them. If the manager is gone, all shims end their programs.
/// srun leaves the others alone, and Slurm's accounting shows the status: it gets that of a program that failed.
int StatusForStarter(const Settings& settings, const Ended& ended) {
  if (settings.own_status == 0 || !ended.by_itself || ended.end.code == kTryAgain) return 0;
  return ended.end.signal != 0 ? 128 + ended.end.signal : ended.end.code;
}

int Run(const Settings& settings, int channel) {
  // Started by the manager itself, it is the only rank, whatever variables of a job around us say.
  const Rank rank = settings.channel_path != nullptr ? FindRank() : Rank{};
  char host[256] = "localhost";
  gethostname(host, sizeof host - 1);
  Say(channel, "%s %d %d %d %s\n", kHello, rank.rank, rank.size, static_cast<int>(getpid()), host);
  const OrderLine order = AwaitGate(channel);
  if (order.order != Order::kGo) return kNotRun;
  const int unbound = order.words[0] != '\0' ? BindTo(order.words) : 0;

  SetVariable("RANK", rank.rank);
  SetVariable("WORLD_SIZE", rank.size);
  SetVariable("LOCAL_RANK", rank.local);
  NameNodeInVariables();
  const int signals = TakeSignals();
  AdoptOrphans();
  const Started started = Start(settings, rank.rank);
  if (started.error != 0) {
    Say(channel, "%s %d\n", kFailed, started.error);
    waitpid(started.pid, nullptr, 0);
    const int code = started.error == ENOENT ? 127 : 126;
    return StatusForStarter(settings, {{.code = code, .signal = 0}, true});
  }
  Say(channel, "%s %d %d\n", kStarted, static_cast<int>(started.pid), unbound);
  const Ended ended = Watch(started.pid, channel, signals, settings.grace_ms);
  EndStrays(Orphans(started.pid), settings.log_directory, rank.rank);
  if (ended.by_itself) WriteExitRecord(settings.log_directory, rank.rank, ended.end);
  Say(channel, "%s %d %d\n", kExited, ended.end.code, ended.end.signal);
  return StatusForStarter(settings, ended);
}

}  // namespace

int main(int argc, char** argv) {
  const Settings settings = Parse(argc, argv);
  const int channel = settings.channel >= 0 ? settings.channel : Connect(settings.channel_path);
  fcntl(channel, F_SETFD, FD_CLOEXEC);
  return Run(settings, channel);
}
