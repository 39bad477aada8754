#include "launcher/run_folder/orphan.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <thread>
#include <utility>

#include "core/clock.h"
#include "core/unique_handle.h"
#include "core/units.h"
#include "ensemble/store/trial_book.h"

namespace slipway::launcher {
namespace {

/// How long to wait when no process reaps. A supervisor reaps a program once the record of its end is written.
constexpr auto kOrphanReapPatience = std::chrono::milliseconds(500);

constexpr auto kPauseBetweenLooks = std::chrono::milliseconds(10);

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

/// What a supervised program has started may outlive it; until then its supervisor does not reap it. False when the
/// time passes first.
bool WaitUntilGroupEnded(const ProcessIdentity& leader, const UniqueFd& pidfd, std::chrono::nanoseconds limit) {
  const auto deadline = SystemClock().Steady() + limit;
  const auto is_left = [&] { return IsThere(leader) && GroupLives(static_cast<pid_t>(leader.pid)); };
  if (!WaitUntilEnded(pidfd, limit)) return false;
  while (is_left() && SystemClock().Steady() < deadline) std::this_thread::sleep_for(kPauseBetweenLooks);
  return !is_left();
}

/// Names this process, whatever becomes of its number. Invalid: it is gone.
UniqueFd OpenOrphan(const ProcessIdentity& process) {
  const auto pid = static_cast<pid_t>(process.pid);
  if (pid <= 1 || !IsThere(process)) return {};
  UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  return pidfd && IsThere(process) ? std::move(pidfd) : UniqueFd();
}

}  // namespace

void EndOrphan(const ProcessIdentity& leader, std::chrono::nanoseconds grace) {
  const auto pidfd = OpenOrphan(leader);
  if (!pidfd) return;
  const auto pid = static_cast<pid_t>(leader.pid);
  ::kill(-pid, SIGTERM);
  if (!WaitUntilEnded(pidfd, grace)) {
    ::kill(-pid, SIGKILL);
    WaitUntilEnded(pidfd, grace);
  }
  WaitUntilReaped(leader);
}

void EndOrphanedRanks(const ProcessIdentity& starter, Output& output, std::chrono::nanoseconds grace) {
  const auto pidfd = OpenOrphan(starter);
  if (!pidfd) return;
  if (!WaitUntilGroupEnded(starter, pidfd, {})) {
    output.Say(fmt::format("waiting up to {} for the ranks that the earlier manager left: they may still save",
                           FormatDuration(grace)));
    WaitUntilGroupEnded(starter, pidfd, grace);
  }
  EndOrphan(starter, grace);
}

void EndOrphans(const RunFolder& folder, Output& output) {
  EndOrphanedRanks(folder.ReadState().job, output);
  if (!std::filesystem::exists(folder.trial_book())) return;
  for (const auto& attempt : ensemble::TrialBook::OpenForReading(folder.path()).OpenAttempts()) {
    if (attempt.process) EndOrphanedRanks(*attempt.process, output);
  }
}

}  // namespace slipway::launcher
