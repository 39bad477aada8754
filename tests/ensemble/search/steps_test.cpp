#include "ensemble/search/steps.h"

#include <gmock/gmock.h>

#include <map>

namespace slipway::ensemble {
namespace {

constexpr std::size_t kAxes = 5;

/// How many of 100 trials from `first` on have which kind; of each third one only, as a portfolio may choose.
std::map<StepKind, int> Counted(TrialNumber first) {
  std::map<StepKind, int> counts;
  for (TrialNumber i = 0; i < 100; ++i) ++counts[StepOf(first + 3 * i, kAxes)];
  return counts;
}

TEST(Steps, TakeEqualTurnsWhileANeighbourhoodHasTooFewResults) {
  constexpr std::size_t kManyAxes = 12;
  ASSERT_EQ(ResultsNearby(kManyAxes), 149u);
  std::map<StepKind, int> counts;
  for (TrialNumber trial = 0; trial < 148; ++trial) ++counts[StepOf(trial, kManyAxes)];
  EXPECT_EQ(counts.size(), 4u);
  for (const auto& [kind, count] : counts) EXPECT_NEAR(count, 37, 3) << static_cast<int>(kind);
}

TEST(Steps, LearnFromNoMoreThanAFitIsQuickWith) {
  EXPECT_EQ(ResultsNearby(13), 150u);
  EXPECT_EQ(ResultsNearby(100), 150u);
}

TEST(Steps, AreMostlyNearbyFromThenOn) {
  ASSERT_EQ(ResultsNearby(kAxes), 51u);
  auto counts = Counted(51);
  EXPECT_NEAR(counts[StepKind::kNearby], 70, 3);
  EXPECT_NEAR(counts[StepKind::kRegion], 15, 3);
  EXPECT_NEAR(counts[StepKind::kEverywhereByLogarithms], 10, 3);
  EXPECT_NEAR(counts[StepKind::kEverywhereByValues], 5, 3);
}

TEST(Steps, NearbyAndInTheRegionAreLocal) {
  EXPECT_TRUE(IsLocal(StepKind::kNearby));
  EXPECT_TRUE(IsLocal(StepKind::kRegion));
  EXPECT_FALSE(IsLocal(StepKind::kEverywhereByValues));
  EXPECT_FALSE(IsLocal(StepKind::kEverywhereByLogarithms));
}

}  // namespace
}  // namespace slipway::ensemble
