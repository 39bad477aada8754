#include "launcher/run/interrupt.h"

#include <signal.h>

namespace slipway::launcher {

Interrupt::Interrupt(EventLoop& loop) : loop_(loop) {
  loop.OnSignals({SIGINT, SIGTERM, SIGHUP}, [this](int) { Ask(); });
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

}  // namespace slipway::launcher
