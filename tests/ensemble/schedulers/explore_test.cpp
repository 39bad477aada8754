#include "ensemble/schedulers/explore.h"

#include <gmock/gmock.h>
#include <rapidcheck.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "ensemble/search/cube/free_points.h"

namespace slipway::ensemble {
namespace {

SearchSpace Space(const char* definitions) { return ParseSpace(Json::parse(definitions)); }

/// How often each value of the only parameter follows in 2000 trials.
std::map<std::string, int> Outcomes(const char* definitions, const Scalar& parent) {
  const auto space = Space(definitions);
  std::map<std::string, int> counts;
  for (TrialNumber trial = 0; trial < 2000; ++trial) {
    ++counts[Describe(Explore(space, {{"x", parent}}, 7, trial).at(0).second)];
  }
  return counts;
}

TEST(Explore, MultipliesOrDrawsAnew) {
  const auto counts = Outcomes(R"({"x":{"log":[1e-4,1]}})", 0.5);
  EXPECT_NEAR(counts.at("0.4"), 750, 90);
  EXPECT_NEAR(counts.at("0.6"), 750, 90);
  EXPECT_GT(counts.size(), 400u) << "a quarter is drawn anew";
}

TEST(Explore, StopsAtTheBorderAndTurnsBackThere) {
  EXPECT_NEAR(Outcomes(R"({"x":{"log":[1e-4,1]}})", 0.9).at("1.0"), 750, 90);
  EXPECT_NEAR(Outcomes(R"({"x":{"log":[1e-4,1]}})", 1.0).at("0.8"), 1500, 90);
}

TEST(Explore, LeavesZero) {
  const auto counts = Outcomes(R"({"x":{"uniform":[-1,1]}})", 0.0);
  EXPECT_NEAR(counts.at("0.04"), 750, 90);
  EXPECT_NEAR(counts.at("-0.04"), 750, 90);
}

TEST(Explore, SingleValuesMoveByAtLeastOne) {
  const auto few = Outcomes(R"({"x":{"int":[0,1000]}})", std::int64_t{3});
  EXPECT_GT(few.at("23"), 600) << "a fiftieth of the range";
  EXPECT_GT(few.at("0"), 600);
  const auto small = Outcomes(R"({"x":{"int_log":[1,1000]}})", std::int64_t{2});
  EXPECT_GT(small.at("1"), 600);
  EXPECT_GT(small.at("3"), 600);
  const auto large = Outcomes(R"({"x":{"int_log":[1,1000]}})", std::int64_t{100});
  EXPECT_GT(large.at("80"), 600);
  EXPECT_GT(large.at("120"), 600);
  const auto steps = Outcomes(R"({"x":{"uniform":[0,1],"step":0.1}})", 0.5);
  EXPECT_GT(steps.at("0.4"), 600);
  EXPECT_GT(steps.at("0.6"), 600);
}

TEST(Explore, OrdinalsGoToANeighbourAndChoicesAreDrawnAnew) {
  const auto ordinal = Outcomes(R"({"x":{"ordinal":["a","b","c","d","e"]}})", std::string("c"));
  EXPECT_GT(ordinal.at("\"b\""), 700);
  EXPECT_GT(ordinal.at("\"d\""), 700);
  EXPECT_LT(ordinal.at("\"a\""), 200);
  const auto choice = Outcomes(R"({"x":{"choice":["a","b","c"]}})", std::string("c"));
  EXPECT_EQ(choice.count("\"c\""), 0u) << "the only parameter must change";
  EXPECT_NEAR(choice.at("\"a\""), 1000, 120);
}

TEST(Explore, WhereNothingCanChangeTheParentIsCopied) {
  EXPECT_EQ(Outcomes(R"({"x":{"fixed":3}})", std::int64_t{3}).at("3"), 2000);
  EXPECT_EQ(Outcomes(R"({"x":{"choice":[1,2]},"":["x == 1"]})", std::int64_t{1}).at("1"), 2000);
}

TEST(Explore, DiffersFromTheOthersWhereItCan) {
  const auto space = Space(R"({"x":{"ordinal":[1,2,3]}})");
  const auto point = [](std::int64_t x) { return Point{{"x", x}}; };
  const auto all = std::set{ConfigurationHash(point(1)), ConfigurationHash(point(3))};
  for (TrialNumber trial = 0; trial < 100; ++trial) {
    EXPECT_EQ(Explore(space, point(2), 7, trial, {ConfigurationHash(point(1))}), point(3));
    EXPECT_EQ(Explore(space, point(2), 7, trial, all), Explore(space, point(2), 7, trial)) << "none is left";
  }
}

TEST(Explore, IntegersOfTheWholeRangeDoNotOverflow) {
  const auto space = Space(R"({"x":{"int":[-9223372036854775808,9223372036854775807]}})");
  for (TrialNumber trial = 0; trial < 100; ++trial) {
    for (const auto value : {INT64_MIN, INT64_MAX, std::int64_t{0}}) {
      EXPECT_NE(Explore(space, {{"x", value}}, 1, trial), (Point{{"x", value}}));
    }
  }
}

TEST(Explore, ItsPointsLieInTheSpaceAndMeetItsConstraints) {
  const auto space = Space(R"({"optimizer":{"choice":["sgd","adam"]},"lr":{"log":[1e-4,1]},"layers":{"int":[1,4]},
    "units_0":{"int_log":[8,1024]},"units_1":{"int_log":[8,1024],"when":{"layers":[2,3,4]}},
    "momentum":{"uniform":[0,0.99],"when":{"optimizer":"sgd"}},"decay":{"uniform":[0,1],"step":0.25},
    "size":{"ordinal":["small","medium","large"]},"":["units_1 <= units_0","optimizer == 'sgd' or lr < 0.1"]})");
  EXPECT_TRUE(rc::check("Explore", [&] {
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    const auto trial = *rc::gen::inRange<TrialNumber>(0, 100000);
    const auto parent = RandomFreePoint(space, seed, trial, {});
    const auto child = Explore(space, parent, seed, trial + 1);
    RC_ASSERT(child == CheckedPoint(space, child));
    RC_ASSERT(child != parent);
    RC_ASSERT(child == Explore(space, parent, seed, trial + 1));
    for (const auto& parameter : space.parameters()) {
      RC_ASSERT(IsActive(parameter, child) == (Find(child, parameter.name) != nullptr));
    }
  }));
}

}  // namespace
}  // namespace slipway::ensemble
