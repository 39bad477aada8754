// How often the controller is asked.

#include "launcher/cluster/poll_interval.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace slipway::launcher {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

PollRound Round(JobPhase phase, milliseconds in_phase) { return {phase, in_phase, milliseconds(1), 0}; }

TEST(PollInterval, IsShortAfterAChangeAndGrowsWhileNothingHappens) {
  EXPECT_EQ(NextPollAfter(Round(JobPhase::kWaiting, milliseconds(0))), milliseconds(500));
  EXPECT_EQ(NextPollAfter(Round(JobPhase::kWaiting, seconds(5))), milliseconds(500));
  EXPECT_EQ(NextPollAfter(Round(JobPhase::kWaiting, seconds(60))), seconds(6));
  EXPECT_EQ(NextPollAfter(Round(JobPhase::kWaiting, std::chrono::hours(100))), seconds(30));
}

TEST(PollInterval, OfARefusedJobDoublesUpToAMinute) {
  EXPECT_EQ(NextTryAfter(1), seconds(1));
  EXPECT_EQ(NextTryAfter(2), seconds(2));
  EXPECT_EQ(NextTryAfter(6), seconds(32));
  EXPECT_EQ(NextTryAfter(7), seconds(60));
  EXPECT_EQ(NextTryAfter(1000), seconds(60));
}

TEST(PollInterval, IsShorterForAJobThatEnds) {
  const auto long_ago = std::chrono::hours(1);
  EXPECT_EQ(NextPollAfter(Round(JobPhase::kRunning, long_ago)), seconds(15));
  EXPECT_EQ(NextPollAfter(Round(JobPhase::kEnding, long_ago)), seconds(5));
}

TEST(PollInterval, GivesAControllerThatDoesNotAnswerTime) {
  PollRound round;
  std::vector<milliseconds> waits;
  for (round.failures = 1; round.failures < 10; ++round.failures) waits.push_back(NextPollAfter(round));
  EXPECT_EQ(waits.front(), seconds(1));
  EXPECT_EQ(waits[3], seconds(8));
  EXPECT_EQ(waits.back(), seconds(60));
  round.failures = 1'000'000;
  EXPECT_EQ(NextPollAfter(round), seconds(60));
}

TEST(PollInterval, TakesAFiftiethOfTheTimeOfASlowController) {
  EXPECT_EQ(NextPollAfter({JobPhase::kWaiting, milliseconds(0), milliseconds(200), 0}), seconds(10));
  EXPECT_EQ(NextPollAfter({JobPhase::kEnding, milliseconds(0), seconds(9), 0}), seconds(60));
}

RC_GTEST_PROP(PollInterval, LiesBetweenHalfASecondAndAMinuteAndNeverShrinksWithTime, (int phase, int age, int more)) {
  PollRound round{static_cast<JobPhase>(std::abs(phase % 4)), milliseconds(std::abs(age % 10'000'000)),
                  milliseconds(std::abs(more % 5'000)), 0};
  const auto first = NextPollAfter(round);
  round.in_phase += milliseconds(std::abs(more % 10'000'000));
  const auto second = NextPollAfter(round);
  RC_ASSERT(first >= milliseconds(500) && second <= seconds(60) && first <= second);
}

}  // namespace
}  // namespace slipway::launcher
