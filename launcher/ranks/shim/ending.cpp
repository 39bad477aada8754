#include "launcher/ranks/shim/ending.h"

#include <signal.h>

namespace slipway::shim {

void Ending::Begin() {
  if (begun_) return;
  begun_ = true;
  clock_gettime(CLOCK_MONOTONIC, &since_);
  kill(-group_, SIGTERM);
  kill(-group_, SIGCONT);  // a stopped program must hear it, too
}

int Ending::MillisecondsLeft() const {
  if (!begun_ || killed_) return -1;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const long passed = (now.tv_sec - since_.tv_sec) * 1000 + (now.tv_nsec - since_.tv_nsec) / 1000000;
  return passed >= grace_ms_ ? 0 : static_cast<int>(grace_ms_ - passed);
}

void Ending::KillIfDue() {
  if (MillisecondsLeft() == 0) Kill();
}

void Ending::Kill() {
  begun_ = killed_ = true;
  kill(-group_, SIGKILL);
}

}  // namespace slipway::shim
