#include "ensemble/schedulers/hyperband.h"

#include <gmock/gmock.h>

#include <cmath>

#include "tests/ensemble/schedulers/scheduler_fixture.h"

namespace slipway::ensemble {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

TEST(BracketShares, AreThoseOfThePaper) {
  // Table 1 of Li et al. (R = 81, eta = 3) rounds 81, 33.75, 15, 7.5 and 5 trials.
  const auto shares = BracketShares(5, 3);
  ASSERT_EQ(shares.size(), 5u);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_NEAR(shares[i] / shares[4] * 5, (std::vector<double>{81, 33.75, 15, 7.5, 5})[i], 1e-12);
  }
  EXPECT_THAT(BracketShares(1, 3), ElementsAre(1));
}

TEST(BracketSharesOf, LeavesOutBracketsThatWouldHaveNothingToCompare) {
  EXPECT_EQ(BracketSharesOf(1000, 4, 3), BracketShares(4, 3));
  EXPECT_THAT(BracketSharesOf(9, 4, 3), ElementsAre(1, 0, 0, 0));
  EXPECT_THAT(BracketSharesOf(10, 4, 3), ElementsAre(testing::Gt(0.6), testing::Gt(0.3), 0, 0));
  EXPECT_THAT(BracketSharesOf(1, 4, 3), ElementsAre(1, 0, 0, 0));
  EXPECT_THAT(BracketSharesOf(1, 1, 3), ElementsAre(1));
  for (std::int64_t trials = 1; trials < 200; ++trials) {
    std::vector<int> counts(4);
    for (TrialNumber trial = 0; trial < trials; ++trial) ++counts[BracketOfTrial(trial, BracketSharesOf(trials, 4, 3))];
    const auto shares = BracketSharesOf(trials, 4, 3);
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(counts[i] > 0, shares[i] > 0) << trials << " trials, bracket " << i;
  }
}

TEST(BracketOfTrial, KeepsTheSharesAtEveryMoment) {
  for (const std::size_t brackets : {1, 2, 3, 5, 7}) {
    const auto shares = BracketShares(brackets, 3);
    std::vector<double> counts(brackets);
    for (TrialNumber trial = 0; trial < 5000; ++trial) {
      ++counts[BracketOfTrial(trial, shares)];
      for (std::size_t i = 0; i < brackets; ++i) {
        ASSERT_NEAR(counts[i], shares[i] * static_cast<double>(trial + 1), 4) << trial << " of bracket " << i;
      }
    }
  }
}

TEST(Hyperband, EachBracketBeginsARungLater) {
  auto settings = SettingsOf("hyperband");
  settings.max = 9;
  const auto scheduler = MakeScheduler(settings);
  const auto shares = BracketShares(3, 3);
  std::vector<bool> seen(3);
  for (TrialNumber trial = 0; trial < 20; ++trial) {
    const auto bracket = BracketOfTrial(trial, shares);
    seen[bracket] = true;
    const std::vector<std::optional<double>> first = {1, 3, std::nullopt};
    EXPECT_EQ(scheduler->Limit(trial), first[bracket]);
  }
  EXPECT_THAT(seen, ElementsAre(true, true, true));
}

TEST(Hyperband, TrialsAreComparedWithinTheirBracket) {
  auto settings = SettingsOf("hyperband");
  settings.max = 9;
  const auto scheduler = MakeScheduler(settings);
  const auto shares = BracketShares(3, 3);
  std::vector<int> entered(3);
  for (TrialNumber trial = 0; trial < 30; ++trial) {
    const auto bracket = BracketOfTrial(trial, shares);
    const double resource = std::pow(3, bracket);
    // Later trials are worse, so nobody goes on at once.
    const auto judgement = scheduler->Take({trial, resource, static_cast<double>(trial)});
    ASSERT_TRUE(judgement.rung);
    EXPECT_EQ(*judgement.rung, (Judgement::Rung{static_cast<int>(bracket), 0, resource}));
    EXPECT_EQ(judgement.decision, bracket == 2 ? Decision::kContinue : Decision::kPause);
    scheduler->End(trial, bracket == 2 ? TrialState::kComplete : TrialState::kPaused);
    ++entered[bracket];
  }
  std::vector<int> promoted(3);
  while (const auto next = scheduler->Promote()) ++promoted[BracketOfTrial(*next, shares)];
  EXPECT_THAT(promoted, ElementsAre(entered[0] / 3, entered[1] / 3, 0));
}

/// With 9 trials there is one bracket, which pauses at 1; with 90 trial 1 is in one that pauses at 3 first.
TEST(Hyperband, ATrialPausedBelowItsFirstRungGoesOnWhenTheBudgetWasRaised) {
  auto settings = SettingsOf("hyperband");
  settings.max = 9;
  settings.trials = 90;
  const auto scheduler = MakeScheduler(settings);
  ASSERT_EQ(scheduler->Limit(1), 3);
  scheduler->Restore({{1, 1, 0.5}}, TableOf({TrialState::kRunning, TrialState::kPaused}));
  EXPECT_EQ(scheduler->Promote(), TrialNumber{1});
  EXPECT_EQ(scheduler->Promote(), std::nullopt) << "once";
}

}  // namespace
}  // namespace slipway::ensemble
