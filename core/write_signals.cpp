#include "core/write_signals.h"

#include <signal.h>

namespace slipway {
namespace {

bool works_without_reader = false;

}  // namespace

void IgnoreFileSizeSignal() { ::signal(SIGXFSZ, SIG_IGN); }

void IgnorePipeSignal() {
  ::signal(SIGPIPE, SIG_IGN);
  works_without_reader = true;
}

bool WorksWithoutReader() { return works_without_reader; }

void ResetWriteSignals() {
  ::signal(SIGXFSZ, SIG_DFL);
  ::signal(SIGPIPE, SIG_DFL);
}

}  // namespace slipway
