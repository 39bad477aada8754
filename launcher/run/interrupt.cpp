#include "launcher/run/interrupt.h"

#include <signal.h>

namespace slipway::launcher {

Interrupt::Interrupt(EventLoop& loop) {
  loop.OnSignals({SIGINT, SIGTERM, SIGHUP}, [this](int) { Ask(); });
}

void Interrupt::Ask() {
  ++count_;
  if (callback_) callback_();
}

}  // namespace slipway::launcher
