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

}  // namespace
}  // namespace slipway::ensemble
