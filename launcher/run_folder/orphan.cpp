#include "launcher/run_folder/orphan.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <thread>

#include "core/clock.h"
#include "core/unique_handle.h"
#include "ensemble/store/trial_book.h"

namespace slipway::launcher {
namespace {

/// How long to wait when no process reaps. A supervisor reaps a program once the record of its end is written.
constexpr auto kOrphanReapPatience = std::chrono::milliseconds(500);

/// Also as a zombie.
bool IsThere(const ProcessIdentity& process) {
  return process.start_time != 0 && IdentityOf(static_cast<pid_t>(process.pid)) == process;
}

void WaitUntilReaped(const ProcessIdentity& process) {
  const auto deadline = SystemClock().Steady() + kOrphanReapPatience;
  while (IsThere(process) && SystemClock().Steady() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

/// False when the time passes first.
bool WaitUntilEnded(const UniqueFd& pidfd, std::chrono::nanoseconds limit) {
  pollfd watch{pidfd.get(), POLLIN, 0};
  return ::poll(&watch, 1, static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(limit).count())) > 0;
}

}  // namespace

void EndOrphan(const ProcessIdentity& leader, std::chrono::nanoseconds grace) {
  const auto pid = static_cast<pid_t>(leader.pid);
  if (pid <= 1 || !IsThere(leader)) return;
  const UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd || !IsThere(leader)) return;  // from here on the descriptor names this process, whatever the number does
  ::kill(-pid, SIGTERM);
  if (!WaitUntilEnded(pidfd, grace)) {
    ::kill(-pid, SIGKILL);
    WaitUntilEnded(pidfd, grace);
  }
  WaitUntilReaped(leader);
}

void EndOrphans(const RunFolder& folder) {
  EndOrphan(folder.ReadState().job);
  if (!std::filesystem::exists(folder.trial_book())) return;
  for (const auto& attempt : ensemble::TrialBook::OpenForReading(folder.path()).OpenAttempts()) {
    if (attempt.process) EndOrphan(*attempt.process);
  }
}

}  // namespace slipway::launcher
