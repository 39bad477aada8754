#include "ensemble/schedulers/percentile_rule.h"

#include <gmock/gmock.h>

#include "tests/ensemble/schedulers/scheduler_fixture.h"

namespace slipway::ensemble {
namespace {

using testing::HasSubstr;

TEST(Percentile, InterpolatesBetweenNeighbours) {
  EXPECT_EQ(Percentile({7}, 50), 7);
  EXPECT_EQ(Percentile({1, 2, 3, 4}, 50), 2.5);
  EXPECT_EQ(Percentile({1, 2, 3, 4, 5}, 25), 2);
  EXPECT_EQ(Percentile({1, kInfinite}, 50), kInfinite);
  EXPECT_EQ(Percentile({kInfinite, kInfinite}, 50), kInfinite);
}

/// Trials 0 and 1 are complete; their averages are 1 and 0.6 at resource 1, 0.75 and 0.5 at 2.
class MedianRule : public testing::Test {
 protected:
  static SchedulerSettings Settings() {
    auto settings = SettingsOf("median");
    settings.startup = 2;
    return settings;
  }
  static std::unique_ptr<Scheduler> AfterTwo(const SchedulerSettings& settings, double sign = 1) {
    auto scheduler = MakeScheduler(settings);
    TakeAll(*scheduler, 0, {sign * 1.0, sign * 0.5});
    TakeAll(*scheduler, 1, {sign * 0.6, sign * 0.4});
    scheduler->End(0, TrialState::kComplete);
    scheduler->End(1, TrialState::kComplete);
    return scheduler;
  }
  std::unique_ptr<Scheduler> scheduler_ = AfterTwo(Settings());
};

TEST_F(MedianRule, EndsWhatIsWorseThanTheMedianOfAverages) {
  EXPECT_EQ(scheduler_->Take({2, 1, 0.8}).decision, Decision::kContinue) << "equal is not worse";
  EXPECT_EQ(scheduler_->Take({3, 1, 0.81}).decision, Decision::kStop);
}

TEST_F(MedianRule, ComparesTheBestValueSoFar) {
  EXPECT_EQ(TakeAll(*scheduler_, 2, {0.62, 5.0}).decision, Decision::kContinue);
  const auto judgement = TakeAll(*scheduler_, 3, {0.7, 5.0});
  EXPECT_EQ(judgement.decision, Decision::kStop);
  EXPECT_EQ(judgement.reason,
            "at 2: its best, 0.7, is worse than 0.625, the median of what 2 complete trials had on average");
}

TEST_F(MedianRule, WaitsForEnoughCompleteTrials) {
  auto settings = Settings();
  settings.startup = 3;
  auto scheduler = AfterTwo(settings);
  EXPECT_EQ(scheduler->Take({2, 1, 99}).decision, Decision::kContinue);
  TakeAll(*scheduler, 3, {0.1});
  scheduler->End(3, TrialState::kPruned);
  EXPECT_EQ(scheduler->Take({4, 1, 99}).decision, Decision::kContinue) << "a pruned trial is not complete";
  TakeAll(*scheduler, 5, {0.1});
  scheduler->End(5, TrialState::kComplete);
  EXPECT_EQ(scheduler->Take({6, 1, 99}).decision, Decision::kStop);
  EXPECT_EQ(scheduler->Take({6, 2, 99}).decision, Decision::kContinue) << "only two came to 2";
}

TEST_F(MedianRule, JudgesFromTheMinimumOn) {
  auto settings = Settings();
  settings.min = 2;
  auto scheduler = AfterTwo(settings);
  EXPECT_EQ(scheduler->Take({2, 1, 99}).decision, Decision::kContinue);
  EXPECT_EQ(scheduler->Take({2, 2, 99}).decision, Decision::kStop);
}

TEST_F(MedianRule, WithAnIntervalReportsNeedNotMeet) {
  auto settings = Settings();
  settings.interval = 1;
  auto scheduler = AfterTwo(settings);
  EXPECT_EQ(scheduler->Take({2, 1.3, 0.79}).decision, Decision::kContinue);
  EXPECT_EQ(scheduler->Take({2, 1.6, 9}).decision, Decision::kContinue);
  EXPECT_EQ(scheduler->Take({2, 2.2, 9}).decision, Decision::kStop);
  EXPECT_EQ(scheduler_->Take({2, 1.3, 9}).decision, Decision::kContinue) << "nobody else reported at 1.3";
}

TEST_F(MedianRule, NotANumberIsWorse) {
  EXPECT_EQ(scheduler_->Take({2, 1, kNotANumber}).decision, Decision::kStop);
  EXPECT_EQ(TakeAll(*scheduler_, 3, {0.1, kNotANumber}).decision, Decision::kContinue) << "it was good before";
}

TEST_F(MedianRule, ARetryIsJudgedWhenItComesFurtherThanEver) {
  EXPECT_EQ(scheduler_->Take({2, 1, 0.7}).decision, Decision::kContinue);
  scheduler_->End(2, TrialState::kQueued);
  EXPECT_EQ(scheduler_->Take({2, 1, 0.9}).decision, Decision::kContinue);
  EXPECT_EQ(scheduler_->Take({2, 2, 0.9}).decision, Decision::kStop) << "the 0.7 was replaced";
}

TEST_F(MedianRule, ReasonsShowValuesAsTheUserReportedThem) {
  auto settings = Settings();
  settings.goal = Goal::kMaximize;
  auto scheduler = AfterTwo(settings, 1);
  EXPECT_THAT(scheduler->Take({2, 1, 0.9}).reason, HasSubstr("its best, -0.9, is worse than -0.8"));
}

TEST_F(MedianRule, PercentileKeepsTheBestPart) {
  auto settings = SettingsOf("percentile");
  settings.percentile = 25;
  settings.startup = 5;
  auto scheduler = MakeScheduler(settings);
  for (TrialNumber trial = 0; trial < 5; ++trial) {
    scheduler->Take({trial, 1, static_cast<double>(trial)});
    scheduler->End(trial, TrialState::kComplete);
  }
  EXPECT_EQ(scheduler->Take({5, 1, 1.0}).decision, Decision::kContinue);
  const auto judgement = scheduler->Take({6, 1, 1.5});
  EXPECT_EQ(judgement.decision, Decision::kStop);
  EXPECT_THAT(judgement.reason, HasSubstr("25th percentile"));
}

}  // namespace
}  // namespace slipway::ensemble
