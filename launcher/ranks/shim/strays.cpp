#include "launcher/ranks/shim/strays.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "launcher/ranks/shim/ending.h"

namespace slipway::shim {
namespace {

/// More come in the next round.
constexpr int kMostPids = 1024;
constexpr int kMostRounds = 64;
/// A process that waits for a device may take its time, or not end at all.
constexpr int kReapPatienceMs = 2000;
constexpr int kReapPauseMs = 5;
constexpr int kMostNamed = 5;

struct Pids {
  pid_t at[kMostPids];
  int count = 0;

  void Add(pid_t pid) {
    if (pid > 1 && count < kMostPids) at[count++] = pid;
  }
  bool Has(pid_t pid) const { return std::find(at, at + count, pid) != at + count; }
};

/// False when there is no such file.
bool ReadText(const char* path, char* text, size_t size) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  size_t length = 0;
  for (ssize_t count = 1; count > 0 && length + 1 < size; length += static_cast<size_t>(count > 0 ? count : 0)) {
    count = read(fd, text + length, size - 1 - length);
  }
  text[length] = '\0';
  close(fd);
  return true;
}

/// All 0 when there is no such process.
struct Process {
  pid_t parent = 0;
  pid_t group = 0;
  unsigned long long started = 0;  ///< in clock ticks since the boot
};

Process ReadProcess(pid_t pid) {
  char path[64];
  char text[512];
  snprintf(path, sizeof path, "/proc/%d/stat", static_cast<int>(pid));
  if (!ReadText(path, text, sizeof text)) return {};
  const char* name_ends = strrchr(text, ')');  // a name may hold anything
  constexpr char kFields[] = " %*c %d %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu";
  Process process;
  const bool is_read =
      name_ends != nullptr && sscanf(name_ends + 1, kFields, &process.parent, &process.group, &process.started) == 3;
  return is_read ? process : Process{};
}

unsigned long long TicksSinceBoot() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  const auto per_second = static_cast<unsigned long long>(sysconf(_SC_CLK_TCK));
  const auto part = static_cast<unsigned long long>(now.tv_nsec) * per_second / 1000000000;
  return static_cast<unsigned long long>(now.tv_sec) * per_second + part;
}

template <class Take>
void ForEachNumberIn(const char* directory, Take take) {
  DIR* listing = opendir(directory);
  if (listing == nullptr) return;
  while (const dirent* entry = readdir(listing)) {
    if (const int number = atoi(entry->d_name); number > 0) take(number);
  }
  closedir(listing);
}

/// Kernels without lists of children (CONFIG_PROC_CHILDREN).
void AddChildrenByParent(pid_t of, Pids& children) {
  ForEachNumberIn("/proc", [&](int pid) {
    if (ReadProcess(pid).parent == of) children.Add(pid);
  });
}

void AddNumbers(char* text, Pids& pids) {
  for (char* word = strtok(text, " "); word != nullptr; word = strtok(nullptr, " ")) pids.Add(atoi(word));
}

void AddChildren(pid_t of, Pids& children) {
  char tasks[64];
  snprintf(tasks, sizeof tasks, "/proc/%d/task", static_cast<int>(of));
  bool listed = true;
  ForEachNumberIn(tasks, [&](int thread) {
    char path[96];
    char text[16384];
    snprintf(path, sizeof path, "%s/%d/children", tasks, thread);
    const bool is_there = ReadText(path, text, sizeof text);
    if (is_there) AddNumbers(text, children);
    listed = listed && (is_there || ReadProcess(thread).parent == 0);
  });
  if (!listed) AddChildrenByParent(of, children);
}

bool IsOrphan(const OrphansOf& orphans, pid_t child) {
  return child != orphans.program && (orphans.is == nullptr || orphans.is(child, orphans.context));
}

Pids FindOrphans(const OrphansOf& orphans) {
  Pids children;
  AddChildren(getpid(), children);
  Pids found;
  for (int i = 0; i < children.count; ++i) {
    if (IsOrphan(orphans, children.at[i])) found.Add(children.at[i]);
  }
  return found;
}

/// All that descends from the program; one may be there twice. Orphans come last: what has lost its parent since the
/// parent's children were read is among them.
Pids FindDescendants(const OrphansOf& orphans) {
  Pids found;
  AddChildren(orphans.program, found);
  int next = 0;
  for (; next < found.count; ++next) AddChildren(found.at[next], found);
  const Pids left = FindOrphans(orphans);
  for (int i = 0; i < left.count; ++i) found.Add(left.at[i]);
  for (; next < found.count; ++next) AddChildren(found.at[next], found);
  return found;
}

bool IsThere(pid_t pid) { return kill(pid, 0) == 0 || errno == EPERM; }

/// For kill(): the whole group of a descendant, where all its members descend from the program. A group is of others
/// when its leader is there and no descendant.
pid_t TargetOf(pid_t pid, pid_t group, const Pids& descendants) {
  const bool is_of_others = group <= 1 || group == getpgrp() || (!descendants.Has(group) && IsThere(group));
  return is_of_others ? pid : -group;
}

/// As in a log: "1234 (sleep)".
void AppendName(char* line, size_t size, pid_t pid) {
  char path[64];
  char name[64] = "";
  snprintf(path, sizeof path, "/proc/%d/comm", static_cast<int>(pid));
  if (ReadText(path, name, sizeof name)) name[strcspn(name, "\n")] = '\0';
  const size_t length = strlen(line);
  snprintf(line + length, size - length, "%s%d (%s)", line[0] == '\0' ? "" : ", ", static_cast<int>(pid), name);
}

/// Processes of one kind, for a line of the log.
struct Counted {
  int count = 0;
  char names[256] = "";

  void Add(pid_t pid) {
    if (count++ < kMostNamed) AppendName(names, sizeof names, pid);
  }
};

/// False when it has not ended in time.
bool Reap(pid_t pid) {
  for (int waited_ms = 0; waited_ms < kReapPatienceMs; waited_ms += kReapPauseMs) {
    const pid_t ended = waitpid(pid, nullptr, WNOHANG);
    if (ended == pid || (ended < 0 && errno == ECHILD)) return true;
    const timespec pause{0, kReapPauseMs * 1000000L};
    nanosleep(&pause, nullptr);
  }
  return false;
}

/// True while any may have ended, and left children of its own.
bool EndOrphansOnce(const OrphansOf& orphans, Counted& ended, Counted& stuck) {
  const Pids found = FindOrphans(orphans);
  for (int i = 0; i < found.count; ++i) {
    const bool is_outside = getpgid(found.at[i]) != orphans.program;  // the group has its SIGKILL already
    if (is_outside && !IsZombie(found.at[i])) ended.Add(found.at[i]);
    kill(found.at[i], SIGKILL);
  }
  bool any_gone = false;
  for (int i = 0; i < found.count; ++i) {
    const bool gone = Reap(found.at[i]);
    if (!gone) stuck.Add(found.at[i]);
    any_gone = any_gone || gone;
  }
  return any_gone && stuck.count == 0;
}

/// The last line of a program may have no end; what follows must not become a part of it.
bool EndsWithinALine(int log) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", log);
  const int text = open(path, O_RDONLY | O_CLOEXEC);
  if (text < 0) return false;
  char last = '\n';
  const off_t size = lseek(text, 0, SEEK_END);
  const bool is_read = size > 0 && pread(text, &last, 1, size - 1) == 1;
  close(text);
  return is_read && last != '\n';
}

void WriteLine(int log, const char* format, const Counted& processes) {
  if (log < 0 || processes.count == 0) return;
  char line[512];
  const char* more = processes.count > kMostNamed ? ", ..." : "";
  const int length =
      snprintf(line, sizeof line, format, processes.count, processes.count == 1 ? "" : "es", processes.names, more);
  if (length > 0) (void)!write(log, line, static_cast<size_t>(length));
}

}  // namespace

bool IsZombie(pid_t pid) {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

void AdoptOrphans() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

bool StraySignal::Add(pid_t target) {
  pid_t* const end = targets_ + count_;
  if (count_ == kMostTargets || std::find(targets_, end, target) != end) return false;
  targets_[count_++] = target;
  return true;
}

template <class Wanted>
bool StraySignal::AddFrom(const OrphansOf& orphans, Wanted wanted) {
  const Pids found = FindDescendants(orphans);
  bool any = false;
  for (int i = 0; i < found.count; ++i) {
    const Process process = ReadProcess(found.at[i]);
    const bool is_stray = process.parent != 0 && process.group != orphans.program;
    if (is_stray && wanted(process)) any = Add(TargetOf(found.at[i], process.group, found)) || any;
  }
  return any;
}

void StraySignal::SendFrom(int first) const {
  for (int i = first; i < count_; ++i) kill(targets_[i], signal_);
}

void StraySignal::Find(const OrphansOf& orphans) {
  for (int round = 0; round < kMostRounds && AddFrom(orphans, [](const Process&) { return true; }); ++round) {
  }
  found_at_ = TicksSinceBoot();
}

void StraySignal::Send(const OrphansOf& orphans) {
  SendFrom(0);
  for (int round = 0; round < kMostRounds && SendToMissed(orphans); ++round) {
  }
}

bool StraySignal::SendToMissed(const OrphansOf& orphans) {
  const int first = count_;
  const bool any = AddFrom(orphans, [&](const Process& process) { return process.started < found_at_; });
  SendFrom(first);
  return any;
}

bool AnyIsLeft(const OrphansOf& orphans) {
  const Pids found = FindOrphans(orphans);
  for (int i = 0; i < found.count; ++i) {
    if (!IsZombie(found.at[i])) return true;
  }
  return false;
}

void EndStrays(const OrphansOf& orphans, const char* folder, int rank) {
  Counted ended;
  Counted stuck;
  for (int round = 0; round < kMostRounds && EndOrphansOnce(orphans, ended, stuck); ++round) {
  }
  if (ended.count == 0 && stuck.count == 0) return;
  const int log = OpenRankLog(folder, rank);
  if (log >= 0 && EndsWithinALine(log)) (void)!write(log, "\n", 1);
  WriteLine(log, "slipway: ended %d process%s that the program had left running: %s%s\n", ended);
  WriteLine(log, "slipway: %d process%s could not be ended and may still run: %s%s\n", stuck);
  if (log >= 0) close(log);
}

}  // namespace slipway::shim
