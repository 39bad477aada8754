#include <gmock/gmock.h>

#include "tests/ensemble/schedulers/scheduler_fixture.h"

namespace slipway::ensemble {
namespace {

TEST(ThresholdRule, EndsWhatLeavesTheRange) {
  auto settings = SettingsOf("threshold");
  settings.lower = -1;
  settings.upper = 10;
  const auto scheduler = MakeScheduler(settings);
  for (const double inside : {-1.0, 0.0, 10.0})
    EXPECT_EQ(scheduler->Take({0, 1, inside}).decision, Decision::kContinue);
  EXPECT_EQ(scheduler->Take({0, 1, 10.5}).reason, "at 1: 10.5 is above 10");
  EXPECT_EQ(scheduler->Take({0, 2, -1.5}).reason, "at 2: -1.5 is below -1");
  for (const double bad : {kNotANumber, kInfinite, -kInfinite}) {
    const auto judgement = scheduler->Take({0, 3, bad});
    EXPECT_EQ(judgement.decision, Decision::kStop);
    EXPECT_EQ(judgement.reason, "at 3: a value that is not finite");
  }
}

TEST(ThresholdRule, TheRangeIsInTheUsersSign) {
  auto settings = SettingsOf("threshold");
  settings.lower = 0.1;
  settings.goal = Goal::kMaximize;
  const auto scheduler = MakeScheduler(settings);
  EXPECT_EQ(scheduler->Take({0, 1, -0.2}).decision, Decision::kContinue) << "an accuracy of 0.2";
  const auto judgement = scheduler->Take({0, 2, -0.05});
  EXPECT_EQ(judgement.decision, Decision::kStop);
  EXPECT_EQ(judgement.reason, "at 2: 0.05 is below 0.1");
}

TEST(ThresholdRule, JudgesFromTheMinimumOn) {
  auto settings = SettingsOf("threshold");
  settings.upper = 1;
  settings.min = 2;
  const auto scheduler = MakeScheduler(settings);
  EXPECT_EQ(scheduler->Take({0, 1, 5}).decision, Decision::kContinue);
  EXPECT_EQ(scheduler->Take({0, 2, 5}).decision, Decision::kStop);
}

}  // namespace
}  // namespace slipway::ensemble
