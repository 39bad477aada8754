#include "launcher/ranks/shim/exit_record.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher/ranks/shim/protocol.h"

namespace slipway::shim {

ProgramEnd ProgramEnd::FromWait(int wait_status) {
  if (WIFSIGNALED(wait_status)) return {0, WTERMSIG(wait_status)};
  return {WEXITSTATUS(wait_status), 0};
}

void WriteExitRecord(const char* folder, int rank, ProgramEnd end) {
  char name[PATH_MAX];
  snprintf(name, sizeof name, kExitName, folder, rank);
  const int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
  if (fd < 0) return;
  char text[32];
  const int length = snprintf(text, sizeof text, "%d %d\n", end.code, end.signal);
  (void)!write(fd, text, static_cast<size_t>(length));
  close(fd);
}

int OpenRankLog(const char* folder, int rank) {
  char name[PATH_MAX];
  snprintf(name, sizeof name, kLogName, folder, rank);
  return open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
}

}  // namespace slipway::shim
