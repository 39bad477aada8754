#include <gtest/gtest.h>

#include <cmath>

#include "ensemble/manager/live_attempt.h"

namespace slipway::ensemble {
namespace {

TEST(History, TheValueOfTheHighestStepCounts) {
  History history({"accuracy"});
  EXPECT_FALSE(history.Value());
  history.Take(2, 0.7, 20);
  history.Take(1, 0.9, 30);
  EXPECT_EQ(history.Value(), 0.7);
}

TEST(History, OrTheBestOne) {
  History most({"accuracy", Goal::kMaximize, CountedValue::kBest});
  History least({"loss", Goal::kMinimize, CountedValue::kBest});
  for (const auto& [step, value] : {std::pair{1, 0.5}, {2, std::nan("")}, {3, 0.25}}) {
    most.Take(step, value, 0);
    least.Take(step, value, 0);
  }
  EXPECT_EQ(most.Value(), 0.5);
  EXPECT_EQ(least.Value(), 0.25);
}

TEST(History, OrTheTimeToReachAValue) {
  History history({"accuracy", Goal::kMaximize, CountedValue::kLast, 0.75});
  history.Take(1, 0.5, 10);
  EXPECT_FALSE(history.Value());
  history.Take(2, 0.75, 22);
  history.Take(3, 0.9, 33);
  EXPECT_EQ(history.Value(), 22);
  EXPECT_EQ(history.BestReported(), 0.9);
}

TEST(History, AnAttemptThatGoesOnReplacesOnlyWhatItRepeats) {
  History history({"loss", Goal::kMinimize, CountedValue::kBest});
  history.Take(1, 0.2, 1);
  history.Take(2, 0.1, 2);
  history.BeginAttempt();
  EXPECT_FALSE(history.AttemptHasReported());
  history.Take(2, 0.4, 3);  // from the checkpoint of step 1
  EXPECT_EQ(history.Value(), 0.2);
  history.BeginAttempt();
  history.Take(1, 0.9, 5);  // from the beginning
  EXPECT_EQ(history.Value(), 0.9);
}

}  // namespace
}  // namespace slipway::ensemble
