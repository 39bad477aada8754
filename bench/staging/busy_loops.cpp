#include "bench/staging/busy_loops.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "core/error.h"

namespace slipway::bench {
namespace {

[[noreturn]] void Spin(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(0);
  volatile std::uint64_t turns = 0;
  while (true) turns = turns + 1;
}

}  // namespace

BusyLoops::BusyLoops(int count) {
  const auto parent = ::getpid();
  for (int i = 0; i < count; ++i) {
    const auto process = ::fork();
    if (process == 0) Spin(parent);
    if (process < 0) {
      const auto code = errno;
      End();
      errno = code;
      ThrowErrno("cannot start a busy loop");
    }
    processes_.push_back(process);
  }
}

BusyLoops::~BusyLoops() { End(); }

void BusyLoops::End() noexcept {
  for (const auto process : processes_) ::kill(process, SIGKILL);
  for (const auto process : processes_) ::waitpid(process, nullptr, 0);
  processes_.clear();
}

}  // namespace slipway::bench
