#include "ensemble/search/evolution/genetic.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "ensemble/search/evolution/variation.h"
#include "ensemble/search/results/pareto.h"
#include "tests/ensemble/search/snapped.h"

namespace slipway::ensemble {
namespace {

constexpr double kNoParents = std::numeric_limits<double>::quiet_NaN();

class Variation : public testing::Test {
 protected:
  Encoding encoding_{ParseSpace(
      Json::parse(R"({"a":{"uniform":[0,1]},"b":{"int":[0,9]},"c":{"choice":["x","y","z"]},"d":{"uniform":[0,1]}})"))};
  Draws draws_{1, 1, "test"};
};

TEST_F(Variation, EqualParentsHaveAnEqualChild) {
  const Coordinates parent = {0.3, 0.45, 2, 1.0};
  for (int i = 0; i < 50; ++i) EXPECT_THAT(Cross(encoding_, parent, parent, draws_), testing::ContainerEq(parent));
}

TEST_F(Variation, WhatOneParentLacksComesFromTheOther) {
  const Coordinates mother = {0.3, kNoParents, 2, kNoParents};
  const Coordinates father = {0.3, 0.45, kNoParents, kNoParents};
  for (int i = 0; i < 50; ++i) {
    const auto child = Cross(encoding_, mother, father, draws_);
    EXPECT_EQ(child[1], 0.45);
    EXPECT_EQ(child[2], 2);
    EXPECT_TRUE(child[3] >= 0 && child[3] <= 1);
  }
}

TEST_F(Variation, MutationChangesSomethingAndStaysInside) {
  const Coordinates parent = {0.0, 0.95, 2, 0.5};
  int changes = 0;
  for (int i = 0; i < 400; ++i) {
    auto child = parent;
    Mutate(encoding_, child, draws_);
    const auto snapped = Snapped(encoding_, child);
    int changed = 0;
    for (std::size_t axis = 0; axis < 4; ++axis) {
      EXPECT_TRUE(child[axis] >= 0 && child[axis] <= (axis == 2 ? 2 : 1));
      changed += snapped[axis] == parent[axis] ? 0 : 1;
    }
    EXPECT_GE(changed, 1);
    changes += changed;
  }
  EXPECT_NEAR(changes / 400.0, 1.4, 0.15);
}

TEST(Genetic, DemesKeepTheirOwnSolutions) {
  const Encoding encoding(
      ParseSpace(Json::parse(R"({"c":{"choice":[0,1,2,3,4,5,6,7]},"d":{"choice":[0,1,2,3,4,5,6,7]}})")));
  Observations known;
  for (TrialNumber trial = 0; trial < 80; ++trial) {
    const double home = static_cast<double>(trial % 4);
    known.complete.push_back({trial, {home, home}, 1.0, {}});
  }
  GeneticProposer genetic(encoding, 1, {.trials_per_deme = 20, .migration = 0});
  int at_home = 0;
  for (TrialNumber trial = 80; trial < 180; ++trial) {
    const auto child = genetic.Propose(known, trial, 0);
    const double home = static_cast<double>(trial % 4);
    at_home += child[0] == home || child[1] == home ? 1 : 0;
  }
  EXPECT_GT(at_home, 60);  // three of four keep one of their axes; by chance it would be one of four
}

// Both objectives are best at one end of x; in between lies the front, and y is only in the way.
Objectives TwoGoals(const Coordinates& at) {
  const double x = at[0], y = at[1];
  return {x * x + y, (x - 0.5) * (x - 0.5) * 4 + y};
}

TEST(Nsga2, SpreadsOverTheFrontOfTwoObjectives) {
  const Encoding encoding(ParseSpace(Json::parse(R"({"x":{"uniform":[0,1]},"y":{"uniform":[0,1]}})")));
  Nsga2Proposer nsga2(encoding, 1);
  Observations known;
  for (TrialNumber trial = 0; trial < 300; ++trial) {
    Draws draws(1, trial, "start");
    auto at = trial < 24 ? Coordinates{draws.Unit(), draws.Unit()} : Snapped(encoding, nsga2.Propose(known, trial, 0));
    const auto values = TwoGoals(at);
    known.complete.push_back({trial, std::move(at), values[0], {values[1]}});
  }
  double low = 1, high = 0;
  for (const auto* member : nsga2.Population(known.complete)) {
    EXPECT_LT(member->at[1], 0.05);
    EXPECT_LT(member->at[0], 0.55);
    low = std::min(low, member->at[0]);
    high = std::max(high, member->at[0]);
  }
  EXPECT_LT(low, 0.05);
  EXPECT_GT(high, 0.45);
}

TEST(Nsga2, KeepsTheBestOfAllBlocks) {
  const Encoding encoding(ParseSpace(Json::parse(R"({"x":{"uniform":[0,1]}})")));
  const Nsga2Proposer nsga2(encoding, 1, {.population = 4});
  std::vector<Observation> complete;
  for (TrialNumber trial = 0; trial < 50; ++trial) {
    const double value = static_cast<double>((trial * 37) % 50);
    complete.push_back({trial, {0.5}, value, {50 - value}});
  }
  complete.push_back({50, {0.5}, -1, {}});  // knows only one objective
  std::set<double> values;
  for (const auto* member : nsga2.Population(complete)) values.insert(member->value);
  EXPECT_EQ(values.size(), 4u);
  EXPECT_TRUE(values.contains(0) && values.contains(49));
}

}  // namespace
}  // namespace slipway::ensemble
