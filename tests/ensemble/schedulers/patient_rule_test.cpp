#include <gmock/gmock.h>

#include "tests/ensemble/schedulers/scheduler_fixture.h"

namespace slipway::ensemble {
namespace {

TEST(PatientRule, EndsATrialThatNoLongerImproves) {
  auto settings = SettingsOf("patient");
  settings.patience = 2;
  const auto scheduler = MakeScheduler(settings);
  EXPECT_EQ(TakeAll(*scheduler, 0, {3, 2, 2}).decision, Decision::kContinue);
  const auto judgement = scheduler->Take({0, 4, 2.5});
  EXPECT_EQ(judgement.decision, Decision::kStop);
  EXPECT_EQ(judgement.reason, "at 4: 2 reports without improvement");
  EXPECT_EQ(TakeAll(*scheduler, 1, {3, 2, 2, 1, 1}).decision, Decision::kContinue);
}

TEST(PatientRule, ValuesThatAreNotFiniteAreNoImprovement) {
  auto settings = SettingsOf("patient");
  settings.patience = 2;
  const auto scheduler = MakeScheduler(settings);
  EXPECT_EQ(TakeAll(*scheduler, 0, {kNotANumber, -kInfinite}).decision, Decision::kContinue);
  EXPECT_EQ(scheduler->Take({0, 3, kNotANumber}).decision, Decision::kStop);
}

TEST(PatientRule, JudgesFromTheMinimumOn) {
  auto settings = SettingsOf("patient");
  settings.patience = 1;
  settings.min = 4;
  const auto scheduler = MakeScheduler(settings);
  EXPECT_EQ(TakeAll(*scheduler, 0, {1, 1, 1}).decision, Decision::kContinue);
  EXPECT_EQ(scheduler->Take({0, 4, 1}).decision, Decision::kStop);
}

TEST(PatientRule, RepeatedReportsDoNotCountTwice) {
  auto settings = SettingsOf("patient");
  settings.patience = 3;
  const auto scheduler = MakeScheduler(settings);
  TakeAll(*scheduler, 0, {1, 2, 2});
  scheduler->End(0, TrialState::kQueued);
  EXPECT_EQ(TakeAll(*scheduler, 0, {1, 2, 2}).decision, Decision::kContinue);
  EXPECT_EQ(scheduler->Take({0, 4, 2}).decision, Decision::kStop);
}

TEST(PatientRule, WithAnotherRuleBothMustSaySo) {
  auto settings = SettingsOf("threshold");
  settings.upper = 10;
  settings.patience = 2;
  const auto scheduler = MakeScheduler(settings);
  EXPECT_EQ(TakeAll(*scheduler, 0, {40, 30, 20}).decision, Decision::kContinue) << "above, but improving";
  EXPECT_EQ(TakeAll(*scheduler, 1, {5, 6, 7, 8}).decision, Decision::kContinue) << "not improving, but below";
  EXPECT_EQ(TakeAll(*scheduler, 2, {5, 20}).decision, Decision::kContinue);
  const auto judgement = scheduler->Take({2, 3, 20});
  EXPECT_EQ(judgement.decision, Decision::kStop);
  EXPECT_EQ(judgement.reason, "at 3: 20 is above 10; at 3: 2 reports without improvement");
}

}  // namespace
}  // namespace slipway::ensemble
