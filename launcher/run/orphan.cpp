#include "launcher/run/orphan.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/unique_handle.h"
#include "ensemble/store/trial_book.h"

namespace slipway::launcher {
namespace {

/// False when the time passes first.
bool WaitUntilGone(const UniqueFd& pidfd, std::chrono::nanoseconds limit) {
  pollfd watch{pidfd.get(), POLLIN, 0};
  return ::poll(&watch, 1, static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(limit).count())) > 0;
}

}  // namespace

void EndOrphan(const ProcessIdentity& leader, std::chrono::nanoseconds grace) {
  const auto pid = static_cast<pid_t>(leader.pid);
  if (pid <= 1 || !IsAlive(leader)) return;
  const UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd || !IsAlive(leader)) return;  // from here on the descriptor names this process, whatever the number does
  ::kill(-pid, SIGTERM);
  if (WaitUntilGone(pidfd, grace)) return;
  ::kill(-pid, SIGKILL);
  WaitUntilGone(pidfd, grace);
}

void EndOrphans(const RunFolder& folder) {
  EndOrphan(folder.ReadState().job);
  if (!std::filesystem::exists(folder.trial_book())) return;
  for (const auto& attempt : ensemble::TrialBook::OpenForReading(folder.path()).OpenAttempts()) {
    if (attempt.process) EndOrphan(*attempt.process);
  }
}

}  // namespace slipway::launcher
