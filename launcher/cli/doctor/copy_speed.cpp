#include "launcher/cli/doctor/copy_speed.h"

#include <algorithm>

#include "core/clock.h"
#include "core/units.h"

namespace slipway::launcher {

double FastestCopy(const std::function<void()>& copy) {
  constexpr int kRounds = 4;
  double fastest = 0;
  for (int round = 0; round < kRounds; ++round) {
    const auto began = SystemClock().Steady();
    copy();
    const double seconds = Seconds(SystemClock().Steady() - began).count();
    fastest = std::max(fastest, kCopiedBytes / std::max(seconds, 1e-9));
  }
  return fastest;
}

}  // namespace slipway::launcher
