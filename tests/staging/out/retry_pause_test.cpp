#include "staging/out/retry_pause.h"

#include <gtest/gtest.h>

namespace slipway::staging {
namespace {

using std::chrono::seconds;

class StoodClock final : public Clock {
 public:
  WallTime Now() override { return {}; }
  SteadyTime Steady() override { return now; }
  void Sleep(std::chrono::nanoseconds duration) override { now += duration; }
  SteadyTime now{};
};

TEST(RetryPause, GrowsWithEachFailureUpToAMinute) {
  StoodClock clock;
  RetryPause pause(clock);
  EXPECT_TRUE(pause.IsOver());
  for (const int length : {1, 2, 4, 8, 16, 32, 60, 60}) {
    pause.Note(false);
    clock.Sleep(seconds(length) - std::chrono::milliseconds(1));
    EXPECT_FALSE(pause.IsOver()) << length;
    clock.Sleep(std::chrono::milliseconds(1));
    EXPECT_TRUE(pause.IsOver()) << length;
    EXPECT_TRUE(pause.failing());
  }
}

TEST(RetryPause, EndsWithASuccess) {
  StoodClock clock;
  RetryPause pause(clock);
  for (int i = 0; i < 5; ++i) pause.Note(false);
  pause.Note(true);
  EXPECT_TRUE(pause.IsOver());
  EXPECT_FALSE(pause.failing());
  pause.Note(false);
  clock.Sleep(seconds(1));
  EXPECT_TRUE(pause.IsOver());
}

}  // namespace
}  // namespace slipway::staging
