#include "launcher/ranks/shim/ending.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher/ranks/shim/protocol.h"

namespace slipway::shim {
namespace {

bool LacksSpace(const char* folder) {
  struct statvfs space {};
  if (statvfs(folder, &space) != 0) return false;
  const bool no_inodes = space.f_files > 0 && space.f_favail == 0;
  return no_inodes || static_cast<unsigned long long>(space.f_bavail) * space.f_frsize < kLeastFreeBytes;
}

}  // namespace

void Ending::Begin() {
  if (begun_) return;
  begun_ = true;
  clock_gettime(CLOCK_MONOTONIC, &since_);
  kill(-group_, SIGTERM);
  kill(-group_, SIGCONT);  // a stopped program must hear it, too
}

int Ending::MillisecondsLeft() const {
  if (!begun_ || killed_) return -1;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const long passed = (now.tv_sec - since_.tv_sec) * 1000 + (now.tv_nsec - since_.tv_nsec) / 1000000;
  return passed >= grace_ms_ ? 0 : static_cast<int>(grace_ms_ - passed);
}

void Ending::KillIfDue() {
  if (MillisecondsLeft() == 0) Kill();
}

void Ending::Kill() {
  begun_ = killed_ = true;
  kill(-group_, SIGKILL);
}

ProgramEnd ProgramEnd::FromWait(int wait_status) {
  if (WIFSIGNALED(wait_status)) return {0, WTERMSIG(wait_status)};
  return {WEXITSTATUS(wait_status), 0};
}

void WriteExitRecord(const char* folder, int rank, ProgramEnd end) {
  char name[PATH_MAX];
  snprintf(name, sizeof name, kExitName, folder, rank);
  const int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
  if (fd < 0) return;
  char text[48];
  const int length = LacksSpace(folder) ? snprintf(text, sizeof text, "%d %d %s\n", end.code, end.signal, kDiskFull)
                                        : snprintf(text, sizeof text, "%d %d\n", end.code, end.signal);
  (void)!write(fd, text, static_cast<size_t>(length));
  close(fd);
}

int OpenRankLog(const char* folder, int rank) {
  char name[PATH_MAX];
  snprintf(name, sizeof name, kLogName, folder, rank);
  return open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
}

}  // namespace slipway::shim
