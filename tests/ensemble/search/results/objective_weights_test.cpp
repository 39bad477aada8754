#include "ensemble/search/results/objective_weights.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

namespace slipway::ensemble {
namespace {

Observation Result(TrialNumber trial, std::vector<double> objectives) {
  return {trial, {0.5}, objectives.front(), {objectives.begin() + 1, objectives.end()}};
}

TrialNumber BestOf(const Observations& weighted) {
  return std::ranges::min_element(weighted.complete, {}, &Observation::value)->trial;
}

TEST(WeightedObjectives, LookForEveryCompromiseOfAFrontAndForNothingElse) {
  Observations known;
  // A front that bends inwards, which no plain sum would find, and two points behind it.
  known.complete = {Result(0, {0, 9000}), Result(1, {6, 6000}), Result(2, {9, 0}), Result(3, {10, 9900}),
                    Result(4, {7, 8000})};
  std::set<TrialNumber> found;
  for (TrialNumber trial = 0; trial < 200; ++trial) found.insert(BestOf(WeightedObjectives(known, 1, trial)));
  EXPECT_THAT(found, testing::ElementsAre(0, 1, 2));
}

TEST(WeightedObjectives, LeaveOneObjectiveAndAllElseAsItWas) {
  Observations known;
  known.complete = {Result(3, {1, 2, 3}), Result(5, {2, 1, 3})};
  known.pending = {{0.1}};
  known.failed = {{0.2}};
  const auto weighted = WeightedObjectives(known, 1, 9);
  ASSERT_EQ(weighted.complete.size(), 2u);
  EXPECT_EQ(weighted.complete[1].trial, 5);
  EXPECT_EQ(weighted.complete[1].at, known.complete[1].at);
  EXPECT_TRUE(weighted.complete[1].more.empty());
  EXPECT_EQ(weighted.pending, known.pending);
  EXPECT_EQ(weighted.failed, known.failed);
}

TEST(WeightedObjectives, LeaveOutTrialsWithFewerObjectives) {
  Observations known;
  known.complete = {Result(0, {1}), Result(1, {5, 5})};
  const auto weighted = WeightedObjectives(known, 1, 2);
  ASSERT_EQ(weighted.complete.size(), 1u);
  EXPECT_EQ(weighted.complete[0].trial, 1);
}

TEST(WeightedObjectives, TakeEqualAndHugeValues) {
  Observations known;
  known.complete = {Result(0, {1, -1e308}), Result(1, {1, 1e308})};
  const auto weighted = WeightedObjectives(known, 1, 2);
  EXPECT_LT(weighted.complete[0].value, weighted.complete[1].value);
  EXPECT_EQ(weighted.complete[0].value, 0);
}

}  // namespace
}  // namespace slipway::ensemble
