/// A clock that only the test moves.
#pragma once

#include "core/clock.h"

namespace slipway::ensemble {

class HandClock : public Clock {
 public:
  WallTime Now() override { return WallTime(std::chrono::seconds(1'000'000)) + passed + jump; }
  SteadyTime Steady() override { return SteadyTime(passed); }
  void Sleep(std::chrono::nanoseconds duration) override { passed += duration; }

  std::chrono::nanoseconds passed{0};
  std::chrono::seconds jump{0};  // of the clock of the day only
};

}  // namespace slipway::ensemble
