#include "core/write_signals.h"

#include <signal.h>

namespace slipway {

void IgnoreFileSizeSignal() { ::signal(SIGXFSZ, SIG_IGN); }

void IgnorePipeSignal() { ::signal(SIGPIPE, SIG_IGN); }

void ResetWriteSignals() {
  ::signal(SIGXFSZ, SIG_DFL);
  ::signal(SIGPIPE, SIG_DFL);
}

}  // namespace slipway
