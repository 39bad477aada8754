#include "ensemble/search/gaussian_process/kernel_schedule.h"

#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "ensemble/search/numbers/draws.h"

namespace slipway::ensemble {
namespace {

class Schedule : public testing::Test {
 protected:
  Observation Result(TrialNumber trial) const {
    Draws draws(3, trial, "test");
    const Coordinates at = {draws.Unit(), draws.Unit(), draws.Unit()};
    return {trial, at, std::pow(at[0] - 0.3, 2) + std::sin(9 * at[1]) + std::sin(7 * at[2]), {}};
  }
  Kernel Fresh(const std::vector<Observation>& results) const {
    KernelSchedule fresh(map_, OutputScale::kLog);
    return fresh.For(results);
  }
  static void ExpectSame(const Kernel& left, const Kernel& right) {
    EXPECT_EQ(left.lengths, right.lengths);
    EXPECT_EQ(left.variance, right.variance);
    EXPECT_EQ(left.trend, right.trend);
    EXPECT_EQ(left.noise, right.noise);
    EXPECT_EQ(left.shape.interactions, right.shape.interactions);
  }

  Encoding encoding_{ParseSpace(Json::parse(R"({"x":{"uniform":[0,1]},"y":{"uniform":[0,1]},"z":{"uniform":[0,1]}})"))};
  FeatureMap map_{encoding_};
};

TEST_F(Schedule, GivesARestartTheKernelsOfOneThatLivedThroughAll) {
  KernelSchedule lived(map_, OutputScale::kLog);
  std::vector<Observation> results;
  for (TrialNumber i = 0; i < 70; ++i) {
    results.push_back(Result(i));
    const Kernel& kernel = lived.For(results);
    if (i % 7 == 0) ExpectSame(kernel, Fresh(results));
  }
  EXPECT_EQ(lived.For(results).shape.interactions, Interactions::kPairs);
}

TEST_F(Schedule, FollowsAResultThatComesLate) {
  KernelSchedule lived(map_, OutputScale::kLog);
  std::vector<Observation> results;
  for (TrialNumber i = 1; i < 30; ++i) results.push_back(Result(i));
  const Kernel before = lived.For(results);
  results.insert(results.begin(), Result(0));
  const Kernel after = lived.For(results);
  EXPECT_NE(before.lengths, after.lengths);
  ExpectSame(after, Fresh(results));
}

TEST_F(Schedule, ForgetsNothingWhenItIsAskedForFewerAgain) {
  KernelSchedule lived(map_, OutputScale::kLog);
  std::vector<Observation> results;
  for (TrialNumber i = 0; i < 40; ++i) results.push_back(Result(i));
  lived.For(results);
  results.resize(12);
  ExpectSame(lived.For(results), Fresh(results));
}

}  // namespace
}  // namespace slipway::ensemble
