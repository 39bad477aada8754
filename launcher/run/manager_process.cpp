#include "launcher/run/manager_process.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "core/clock.h"
#include "core/error.h"
#include "launcher/run_folder/manager_elsewhere.h"

namespace slipway::launcher {
namespace {

constexpr auto kRemoteInterval = std::chrono::seconds(1);
/// A process ends a moment before its state can be read as final by others; and pidfd waits are cut to re-check.
constexpr auto kLocalInterval = std::chrono::seconds(60);

/// The manager's process, if exactly that process still runs here.
UniqueFd OpenManager(const RunState& state) {
  if (state.host != HostName() || !IsAlive(state.manager)) return {};
  UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(state.manager.pid), 0)));
  return IsAlive(state.manager) ? std::move(pidfd) : UniqueFd();
}

void SleepUntilChange(const RunState& state, std::chrono::nanoseconds longest) {
  const auto manager = OpenManager(state);
  if (!manager) {
    SystemClock().Sleep(std::min<std::chrono::nanoseconds>(longest, kRemoteInterval));
    return;
  }
  const auto limit = std::min<std::chrono::nanoseconds>(longest, kLocalInterval);
  pollfd watch{manager.get(), POLLIN, 0};
  ::poll(&watch, 1, static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(limit).count()));
}

}  // namespace

RunState StateReader::Read() {
  auto state = run_.ReadState();
  if (!HasEnded(state.phase) && IsGone(state)) {
    EndAs(state, Phase::kLost, cause::ManagerLost{state.manager.pid, state.host});
  }
  return state;
}

/// Whether the manager has left the run without an end.
bool StateReader::IsGone(const RunState& state) try {
  if (!IsOnOtherHost(state)) return false;
  const bool is_held = IsManagerLockHeld(run_.path());
  was_held_ |= is_held;
  return was_held_ && !is_held && !HasEnded(run_.ReadState().phase);
} catch (const SystemError&) {  // the lock cannot be looked at
  return false;
}

std::optional<RunState> WaitForEnd(const RunFolder& run, std::optional<Seconds> limit) {
  const auto deadline = SystemClock().Steady() + std::chrono::duration_cast<std::chrono::nanoseconds>(
                                                     limit.value_or(std::chrono::hours(24 * 365)));
  StateReader states(run);
  while (true) {
    const auto state = states.Read();
    RequireManagerHere(state);
    if (HasEnded(state.phase)) return state;
    const auto left = deadline - SystemClock().Steady();
    if (left <= std::chrono::nanoseconds(0)) return {};
    SleepUntilChange(state, left);
  }
}

void SignalManager(const RunState& state, int signal) {
  if (state.host != HostName()) {
    throw Error(ErrorKind::kEnvironment,
                fmt::format("run {} is managed on {}, not on this host", state.run, state.host),
                fmt::format("give this command on {0}; if {0} is gone, nothing is left to end", state.host));
  }
  RequireManagerHere(state);
  // A pidfd refers to the process, not the number: no other process can get the signal.
  const auto manager = OpenManager(state);
  if (!manager) return;
  if (::syscall(SYS_pidfd_send_signal, manager.get(), signal, nullptr, 0) != 0 && errno != ESRCH) {
    ThrowErrno(fmt::format("cannot signal the manager of run {}", state.run), "only its owner can cancel a run");
  }
}

void AskToStop(const RunState& state) { SignalManager(state, SIGTERM); }

}  // namespace slipway::launcher
