#include "core/interrupt.h"

#include <algorithm>
#include <array>

#include "core/error.h"
#include "core/write_signals.h"

namespace slipway {
namespace {

constexpr auto kOnePress = std::chrono::milliseconds(200);
constexpr std::array kRequests = {SIGINT, SIGTERM, SIGHUP};

/// As nohup does. The kernel keeps such signals, too, while they are held.
bool IsIgnored(int signal) {
  struct sigaction action {};
  CheckErrno(::sigaction(signal, nullptr, &action), "cannot look at the action of a signal");
  return action.sa_handler == SIG_IGN;
}

}  // namespace

HeldInterrupts::HeldInterrupts() {
  sigset_t requests;
  sigemptyset(&requests);
  for (const int signal : kRequests) sigaddset(&requests, signal);
  CheckErrno(::sigprocmask(SIG_BLOCK, &requests, &before_), "cannot block signals");
}

HeldInterrupts::~HeldInterrupts() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }

bool HeldInterrupts::IsPending() const {
  sigset_t pending;
  CheckErrno(::sigpending(&pending), "cannot read the signals that wait");
  return std::ranges::any_of(kRequests,
                             [&](int signal) { return sigismember(&pending, signal) == 1 && !IsIgnored(signal); });
}

Interrupt::Interrupt(EventLoop& loop) : loop_(loop) {
  IgnorePipeSignal();
  loop.OnSignals({kRequests.begin(), kRequests.end()}, [this](int signal) { Take(signal); });
}

/// Only a further press of Ctrl-C counts as forcing. Batch systems and shells send SIGTERM and SIGHUP more than once.
/// `timeout` sends its signal to this process and to its group.
void Interrupt::Take(int signal) {
  const auto now = SystemClock().Steady();
  if (asked() && signal == SIGINT && now - heard_ > kOnePress) forced_ = true;
  heard_ = now;
  Ask();
}

void Interrupt::ListenForTimeLimit() {
  loop_.OnSignals({SIGUSR1}, [this](int) { AskForTimeLimit(); });
}

void Interrupt::AskForTimeLimit() {
  if (!asked()) cause_ = InterruptCause::kTimeLimit;
  Ask();
}

void Interrupt::Ask() {
  ++count_;
  if (callback_) callback_();
}

}  // namespace slipway
