#include "core/interrupt.h"

#include <signal.h>

#include "core/write_signals.h"

namespace slipway {
namespace {

constexpr auto kOnePress = std::chrono::milliseconds(200);

}  // namespace

Interrupt::Interrupt(EventLoop& loop) : loop_(loop) {
  IgnorePipeSignal();
  loop.OnSignals({SIGINT, SIGTERM, SIGHUP}, [this](int signal) { Take(signal); });
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
