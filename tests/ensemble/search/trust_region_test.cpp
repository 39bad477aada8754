#include "ensemble/search/trust_region.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "ensemble/search/steps.h"

namespace slipway::ensemble {
namespace {

class Region : public testing::Test {
 protected:
  void Add(double x, double value) { results_.push_back({next_++, {x, 0.5}, value, {}}); }
  /// Trials in the middle of the region that never improve.
  void Fail(int count) {
    for (int i = 0; i < count; ++i) Add(results_[Now().centre].at[0], 100);
  }
  TrustRegion Now() const { return ReplayRegion(results_, kDesign, axes_); }

  static constexpr TrialNumber kDesign = 4;
  std::vector<Axis> axes_ = std::vector<Axis>(2);
  std::vector<Observation> results_;
  TrialNumber next_ = 0;
};

TEST_F(Region, BeginsAroundTheBestOfTheDesign) {
  for (const double value : {4.0, 2.0, 3.0, 5.0}) Add(0.1 * value, value);
  EXPECT_EQ(Now().centre, 1u);
  EXPECT_EQ(Now().side, 0.8);
}

TEST_F(Region, ShrinksWithFailuresAndGrowsWithSuccesses) {
  for (int i = 0; i < 4; ++i) Add(0.1, 10);
  Fail(8);
  EXPECT_EQ(Now().side, 0.4);
  for (int i = 0; i < 6; ++i) Add(0.1, 9.0 - i);
  EXPECT_EQ(Now().side, 0.8);
  EXPECT_EQ(results_[Now().centre].value, 4.0);
}

TEST_F(Region, DoesNotShrinkTwiceOnResultsThatWereOpenTogether) {
  for (int i = 0; i < 4; ++i) Add(0.1, 10);
  Fail(8);
  ASSERT_EQ(Now().side, 0.4);
  Fail(6);
  EXPECT_LT(Now().side, 0.4);
  EXPECT_EQ(ReplayRegion(results_, kDesign, axes_, 12).side, 0.4);
  Fail(20);
  EXPECT_LT(ReplayRegion(results_, kDesign, axes_, 12).side, 0.4);
}

TEST_F(Region, FollowsABetterPointThatAGlobalStepFindsElsewhere) {
  for (int i = 0; i < 4; ++i) Add(0.05, 10);
  Fail(20);
  ASSERT_LT(Now().side, 0.2);
  while (IsLocal(StepOf(next_, axes_.size()))) Fail(1);
  Add(0.95, 1);
  EXPECT_EQ(results_[Now().centre].at[0], 0.95);
  EXPECT_EQ(Now().side, 0.8);
}

TEST_F(Region, LeavesALocalMinimumForTheBestPointAwayFromIt) {
  Add(0.1, 1);
  Add(0.9, 2);
  Add(0.2, 1.5);
  Add(0.6, 3);
  while (Now().stalls == 0) Fail(1);
  EXPECT_EQ(Now().centre, 1u);
  while (Now().stalls == 1) Fail(1);
  EXPECT_EQ(Now().stalls, 2);
}

TEST(LargestDifference, TakesCategoriesAndInactiveAxesAsApart) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  const std::vector<Axis> axes = {{0, AxisKind::kCategorical, 3}, {1, AxisKind::kContinuous, 0}};
  EXPECT_EQ(LargestDifference({1, 0.5}, {2, 0.5}, axes), 1);
  EXPECT_EQ(LargestDifference({1, none}, {1, 0.5}, axes), 1);
  EXPECT_EQ(LargestDifference({1, none}, {1, none}, axes), 0);
  EXPECT_NEAR(LargestDifference({1, 0.2}, {1, 0.5}, axes), 0.3, 1e-15);
}

}  // namespace
}  // namespace slipway::ensemble
