#include "ensemble/search/portfolio/search_runs.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "ensemble/search/numbers/draws.h"

namespace slipway::ensemble {
namespace {

/// Two axes, a design of 4: four trials as good as the best, and it is found.
class Runs : public testing::Test {
 protected:
  void Add(double value, Coordinates at = {0.5, 0.5}, std::string origin = "gp") {
    known_.complete.push_back({static_cast<TrialNumber>(known_.complete.size()), std::move(at), value, {}, origin});
  }
  /// Improvements 100, 80, 40, 10, 1, 0: the better half of them gains 10, so 0.003 is the same value.
  void AddDescent(double unit = 1) {
    for (const double value : {100.0, 105.0, 80.0, 95.0, 40.0, 10.0, 1.0, 0.0}) Add(value * unit);
  }
  void Converge(double unit = 1) {
    AddDescent(unit);
    for (const double value : {0.0029, 0.001, 0.002}) Add(value * unit);
  }
  SearchRuns Now() const { return ReplayRuns(known_, kDesign, axes_); }

  static constexpr TrialNumber kDesign = 4;
  std::vector<Axis> axes_ = std::vector<Axis>(2);
  Observations known_;
};

TEST_F(Runs, ConvergeWhenFourTrialsAreAsGoodAsTheBest) {
  AddDescent();
  Add(0.001);
  Add(0.002);
  Add(0.0031);
  EXPECT_FALSE(Now().converged);
  Add(0.0029);
  EXPECT_TRUE(Now().converged);
  EXPECT_EQ(Now().run, 1u);
}

TEST_F(Runs, WantMoreSuchTrialsOfMoreAxes) {
  axes_ = std::vector<Axis>(10);
  AddDescent();
  for (int i = 0; i < 4; ++i) Add(0.001);
  EXPECT_FALSE(Now().converged);
  Add(0.001);
  EXPECT_TRUE(Now().converged);
}

TEST_F(Runs, OpenAgainWithABetterTrial) {
  Converge();
  ASSERT_TRUE(Now().converged);
  Add(-1);
  EXPECT_FALSE(Now().converged);
}

TEST_F(Runs, JudgeTheSameInAnyUnit) {
  for (const double unit : {0x1p-500, 0x1p500}) {
    known_ = {};
    Converge(unit);
    EXPECT_TRUE(Now().converged);
    known_.complete.pop_back();
    EXPECT_FALSE(Now().converged);
  }
}

TEST_F(Runs, GoOnInAValley) {
  for (int i = 0; i < 200; ++i) Add(1e5 / std::pow(1 + i, 2));
  EXPECT_FALSE(Now().converged);
}

TEST_F(Runs, DoNotTakeNoiseForAMinimum) {
  Draws draws(1, 0, "test");
  for (int i = 0; i < 200; ++i) {
    Add(std::exp(-0.1 * i) + 0.1 * draws.Normal());
    EXPECT_FALSE(Now().converged) << i;
  }
}

TEST_F(Runs, AreNotToldByEqualValues) {
  for (int i = 0; i < 50; ++i) Add(3);
  EXPECT_FALSE(Now().converged);
}

TEST_F(Runs, AreNotToldOfSeveralObjectivesNorWithoutARange) {
  Converge();
  axes_[0].kind = AxisKind::kCategorical;
  EXPECT_TRUE(Now().converged);
  axes_[1].kind = AxisKind::kOrdered;
  EXPECT_FALSE(Now().converged);
  axes_[0].kind = AxisKind::kContinuous;
  known_.complete.back().more = {1.0};
  EXPECT_FALSE(Now().converged);
}

TEST_F(Runs, EndWhereTheMinimumIsKnown) {
  Converge();
  for (const double value : {50.0, 30.0, 70.0, 60.0}) Add(value, {0.1, 0.1}, "gp#1");
  Add(5, {0.5, 0.65}, "gp#1");
  EXPECT_EQ(Now().run, 1u) << "0.15 on one of two axes: 0.106";
  Add(4, {0.5, 0.63}, "tpe#1");
  EXPECT_EQ(Now().run, 2u);
}

TEST_F(Runs, GoOnBesideTheMinimumWhenTheyAreBetter) {
  Converge();
  for (const double value : {50.0, 30.0, 70.0, 60.0}) Add(value, {0.1, 0.1}, "gp#1");
  Add(-1, {0.5, 0.6}, "gp#1");
  EXPECT_EQ(Now().run, 1u);
  EXPECT_FALSE(Now().converged);
}

TEST_F(Runs, EndWhenTheyComeToRestAboveTheBest) {
  Converge();
  for (const double value : {50.0, 40.0, 30.0, 20.0, 8.0}) Add(value, {0.1, 0.1}, "gp#1");
  for (const double value : {8.07, 8.05, 8.09}) Add(value, {0.1, 0.1}, "gp#1");
  EXPECT_EQ(Now().run, 1u) << "8.09 lies more than a hundredth of 8 above 8";
  Add(8.01, {0.1, 0.1}, "gp#1");
  EXPECT_EQ(Now().run, 2u);
  for (int i = 0; i < 10; ++i) Add(8, {0.1, 0.1}, "gp#1");
  EXPECT_EQ(Now().run, 2u) << "what comes late belongs to a run that is over";
}

TEST_F(Runs, FillTheSpaceBeforeTheyEnd) {
  Converge();
  for (int i = 0; i < 4; ++i) Add(5, {0.5, 0.5}, "gp#1");
  EXPECT_EQ(Now().run, 1u);
  Add(5, {0.5, 0.5}, "gp#1");
  EXPECT_EQ(Now().run, 2u);
}

TEST_F(Runs, BeginWithoutAnyTrial) {
  EXPECT_FALSE(Now().converged);
  EXPECT_EQ(Now().run, 1u);
}

TEST(RunOrigin, NamesMethodAndRun) {
  EXPECT_EQ(OriginOf("gp", 0), "gp");
  EXPECT_EQ(OriginOf("gp", 12), "gp#12");
  for (const std::size_t run : {0, 1, 12}) {
    EXPECT_EQ(RunOf(OriginOf("cmaes", run)), run);
    EXPECT_EQ(MethodOf(OriginOf("cmaes", run)), "cmaes");
  }
  EXPECT_EQ(RunOf("enqueued"), 0u);
  EXPECT_EQ(RunOf(""), 0u);
  EXPECT_EQ(RunOf("gp#"), 0u);
  EXPECT_EQ(RunOf("gp#99999999999999999999999"), 0u);
}

}  // namespace
}  // namespace slipway::ensemble
