#include <gmock/gmock.h>
#include <rapidcheck.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.h"
#include "core/fnv1a.h"
#include "ensemble/model/random.h"
#include "ensemble/samplers/sampler.h"

namespace slipway::ensemble {
namespace {

constexpr const char* kConditional = R"({"optimizer":{"choice":["sgd","adam"]},"lr":{"log":[1e-4,1e-1]},
  "layers":{"int":[1,3]},"momentum":{"uniform":[0,0.99],"when":{"optimizer":"sgd"}},"batch":64})";

/// An open trial at `point`.
void Add(TrialTable& table, Point point, std::string_view origin = "") {
  TrialRecord trial;
  trial.number = table.size();
  trial.configuration = ConfigurationHash(point);
  trial.parameters = std::move(point);
  trial.origin = origin;
  table.Add(std::move(trial));
}

/// Goes on until `table` has `limit` trials or the sampler has no more points.
std::vector<Point> AskAll(Sampler& sampler, std::int64_t limit, TrialTable table = {}) {
  std::vector<Point> points;
  while (table.size() < limit) {
    auto point = sampler.Ask(table.size(), table);
    if (!point) break;
    points.push_back(*point);
    Add(table, std::move(*point));
  }
  return points;
}

/// What a study draws is part of its results: these bits are fixed for all time.
TEST(CounterRandom, GivesTheSameBitsForEver) {
  // Key, counter and so the bits are the first known answer that the authors of Philox4x32-10 publish.
  EXPECT_EQ(CounterRandom(Fnv1a64("lr"), 0, "lr").Bits(0), 0xe169c58d6627e8d5u);
  EXPECT_EQ(CounterRandom(1, 17, "lr").Bits(3), 0xe0fb2a67bf98fab6u);
  EXPECT_EQ(CounterRandom(0xfeedfacecafebeef, -1, "momentum").Bits(0xffffffff), 0x05ccf0c387a86471u);
  EXPECT_EQ(CounterRandom(1, 17, "lr").Unit(3), 0x1.c1f654cf7f31fp-1);
  EXPECT_EQ(CounterRandom(1, 17, "lr").Below(1000, 3), 878u);
}

TEST(GridSampler, GivesEveryPointExactlyOnceAndThenEnds) {
  const auto space = ParseSpace(Json::parse(kConditional));
  const auto sampler = MakeSampler({"grid", 1, 3, 1000}, space);
  const auto points = AskAll(*sampler, 1000);
  // lr 3 x layers 3 x (sgd with 3 momenta + adam without one)
  EXPECT_EQ(points.size(), 3u * 3u * 4u);
  std::set<std::string> hashes;
  for (const auto& point : points) hashes.insert(ConfigurationHash(point));
  EXPECT_EQ(hashes.size(), points.size());
}

TEST(GridSampler, TakesTheEndsAndTheMiddleOfARange) {
  const auto space = ParseSpace(Json::parse(R"({"lr":{"log":[0.01,1]}})"));
  const auto points = AskAll(*MakeSampler({"grid", 1, 3, 10}, space), 10);
  ASSERT_EQ(points.size(), 3u);
  EXPECT_DOUBLE_EQ(std::get<double>(points[0][0].second), 0.01);
  EXPECT_NEAR(std::get<double>(points[1][0].second), 0.1, 1e-12);
  EXPECT_DOUBLE_EQ(std::get<double>(points[2][0].second), 1);
}

/// By logarithms alone it would be 0.010000000000000004.
TEST(GridSampler, TakesTheMiddleOfALogRangeAsPeopleWriteIt) {
  const auto space = ParseSpace(Json::parse(R"({"lr":{"log":[1e-4,1]}})"));
  TrialTable table;
  Add(table, {{"lr", 0.01}}, kEnqueuedOrigin);
  const auto rest = AskAll(*MakeSampler({"grid", 1, 3, 10}, space), 10, table);
  ASSERT_EQ(rest.size(), 2u);
  EXPECT_EQ(rest[0], (Point{{"lr", 1e-4}}));
  EXPECT_EQ(rest[1], (Point{{"lr", 1.0}}));
}

TEST(GridSampler, ContinuesInTheMiddle) {
  const auto space = ParseSpace(Json::parse(kConditional));
  const auto all = AskAll(*MakeSampler({"grid", 1, 3, 1000}, space), 1000);
  std::vector<TrialTable> tables(1);
  for (const auto& point : all) {
    tables.push_back(tables.back());
    Add(tables.back(), point);
  }
  const auto resumed = MakeSampler({"grid", 1, 3, 1000}, space);
  EXPECT_EQ(*resumed->Ask(17, tables[17]), all[17]);
  EXPECT_EQ(*resumed->Ask(4, tables[4]), all[4]);
  EXPECT_EQ(*resumed->Ask(4, tables[4]), all[4]);
  EXPECT_FALSE(resumed->Ask(36, tables[36]).has_value());
}

TEST(GridSampler, PassesOverWhatOthersHaveLinedUp) {
  const auto space = ParseSpace(Json::parse(kConditional));
  const auto all = AskAll(*MakeSampler({"grid", 1, 3, 1000}, space), 1000);
  TrialTable table;
  for (const std::size_t known : {0u, 7u, 35u}) Add(table, all[known], kEnqueuedOrigin);
  const auto rest = AskAll(*MakeSampler({"grid", 1, 3, 1000}, space), 1000, table);
  EXPECT_EQ(rest.size(), 33u);
  for (const auto& point : rest) EXPECT_FALSE(table.ContainsConfiguration(ConfigurationHash(point)));
}

TEST(GridSampler, AnEmptySpaceHasOnePoint) {
  EXPECT_EQ(AskAll(*MakeSampler({"grid", 1, 3, 9}, ParseSpace(Json::object())), 9).size(), 1u);
}

TEST(GridSampler, CountsItsPointsWithinReason) {
  EXPECT_EQ(GridSize({"grid"}, ParseSpace(Json::parse(kConditional))), 36);
  EXPECT_THROW(GridSize({"grid"}, ParseSpace(Json::parse(R"({"a":{"int":[1,2000000]}})"))), Error);
}

class PointSampler : public testing::TestWithParam<const char*> {};

TEST_P(PointSampler, StaysInsideTheDomainsAndRespectsConditions) {
  const auto space = ParseSpace(Json::parse(kConditional));
  EXPECT_TRUE(rc::check("points lie in the space", [&](std::uint64_t seed) {
    for (const auto& point : AskAll(*MakeSampler({GetParam(), seed, 3, 20}, space), 20)) {
      std::size_t active = 0;
      for (const auto& parameter : space.parameters()) {
        const Scalar* value = Find(point, parameter.name);
        RC_ASSERT(IsActive(parameter, point) == (value != nullptr));
        if (value == nullptr) continue;
        ++active;
        RC_ASSERT(Contains(parameter.domain, *value));
      }
      RC_ASSERT(active == point.size());
    }
  }));
}

TEST_P(PointSampler, AsksTheSameForTheSameRows) {
  const auto space = ParseSpace(Json::parse(kConditional));
  const auto once = AskAll(*MakeSampler({GetParam(), 7, 3, 50}, space), 50);
  const auto again = AskAll(*MakeSampler({GetParam(), 7, 3, 50}, space), 50);
  const auto other = AskAll(*MakeSampler({GetParam(), 8, 3, 50}, space), 50);
  EXPECT_EQ(once, again);
  EXPECT_NE(once, other);
}

TEST_P(PointSampler, UsesUpADiscreteSpaceBeforeItRepeats) {
  const auto space = ParseSpace(Json::parse(R"({"a":{"int":[0,99]},"b":{"choice":["x","y","z"]},
    "c":{"choice":[1,2],"when":{"b":"z"}}})"));
  std::set<std::string> hashes;
  const auto points = AskAll(*MakeSampler({GetParam(), 1, 3, 410}, space), 410);
  EXPECT_EQ(points.size(), 410u);
  for (const auto& point : points) {
    hashes.insert(ConfigurationHash(point));
  }
  EXPECT_EQ(hashes.size(), 400u);
}

TEST_P(PointSampler, AnEmptySpaceHasOnePoint) {
  EXPECT_EQ(AskAll(*MakeSampler({GetParam(), 1, 3, 9}, ParseSpace(Json::object())), 2)[1], Point{});
}

INSTANTIATE_TEST_SUITE_P(All, PointSampler, testing::Values("random", "sobol"),
                         [](const auto& each) { return std::string(each.param); });

TEST(SobolSampler, SpreadsFarMoreEvenlyThanChance) {
  const auto space =
      ParseSpace(Json::parse(R"({"l":{"log":[1e-4,1]},"c":{"choice":["a","b","c","d"]},"n":{"int":[1,8]}})"));
  int small = 0, third = 0, seven = 0;
  for (const auto& point : AskAll(*MakeSampler({"sobol", 3, 3, 64}, space), 64)) {
    small += std::get<double>(*Find(point, "l")) < 1e-2 ? 1 : 0;
    third += std::get<std::string>(*Find(point, "c")) == "c" ? 1 : 0;
    seven += std::get<std::int64_t>(*Find(point, "n")) == 7 ? 1 : 0;
  }
  EXPECT_EQ(small, 32);
  EXPECT_EQ(third, 16);
  EXPECT_EQ(seven, 8);
}

TEST(RandomSampler, SpreadsEvenly) {
  const auto space = ParseSpace(Json::parse(R"({"u":{"uniform":[0,1]},"l":{"log":[1e-4,1]}})"));
  int low = 0, small = 0;
  for (const auto& point : AskAll(*MakeSampler({"random", 3, 3, 2000}, space), 2000)) {
    low += std::get<double>(*Find(point, "u")) < 0.25 ? 1 : 0;
    small += std::get<double>(*Find(point, "l")) < 1e-2 ? 1 : 0;
  }
  EXPECT_NEAR(low, 500, 80);  // four standard deviations
  EXPECT_NEAR(small, 1000, 90);
}

TEST(FirstPoints, BecomeTheFirstTrialsAndAreCompleted) {
  SamplerSettings settings{"random", 5};
  settings.points = {PointFromJson(Json::parse(R"({"lr":0.01})")), PointFromJson(Json::parse(R"({"momentum":0.5})"))};
  const auto space = ParseSpace(Json::parse(kConditional));
  const auto points = AskAll(*MakeSampler(settings, space), 6);
  EXPECT_EQ(*Find(points[0], "lr"), Scalar{0.01});
  EXPECT_NE(Find(points[0], "optimizer"), nullptr);
  EXPECT_EQ(*Find(points[1], "momentum"), Scalar{0.5});
  EXPECT_EQ(*Find(points[1], "optimizer"), Scalar{"sgd"});
  EXPECT_EQ(points[4], AskAll(*MakeSampler({"random", 5}, space), 6)[4]);
  settings.points.push_back(PointFromJson(Json::parse(R"({"lr":7})")));
  try {
    MakeSampler(settings, space);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("point 3: parameter 'lr': 7 is not one of its values"));
  }
}

TEST(FirstPoints, AreNotRepeatedByAGrid) {
  SamplerSettings settings{"grid"};
  settings.points = {PointFromJson(Json::parse(R"({"optimizer":"adam","lr":0.1,"layers":3})")),
                     PointFromJson(Json::parse(R"({"optimizer":"adam","lr":0.05,"layers":3})"))};
  const auto space = ParseSpace(Json::parse(kConditional));
  EXPECT_EQ(GridSize(settings, space), 37);  // the second is none of the grid's
  std::set<std::string> hashes;
  for (const auto& point : AskAll(*MakeSampler(settings, space), 100)) hashes.insert(ConfigurationHash(point));
  EXPECT_EQ(hashes.size(), 37u);
}

TEST(FirstPoints, ArePassedOverWhereOthersHaveLinedThemUp) {
  SamplerSettings settings{"random", 5};
  settings.points = {PointFromJson(Json::parse(R"({"optimizer":"adam","lr":0.1,"layers":3})")),
                     PointFromJson(Json::parse(R"({"optimizer":"adam","lr":0.05,"layers":3})"))};
  const auto space = ParseSpace(Json::parse(kConditional));
  const auto sampler = MakeSampler(settings, space);
  const auto all = AskAll(*sampler, 2);
  TrialTable table;
  Add(table, all[0], kImportedOrigin);
  EXPECT_EQ(sampler->Ask(1, table), all[1]);
  Add(table, all[1], kEnqueuedOrigin);
  EXPECT_NE(sampler->Ask(2, table), all[1]);
}

TEST(AutoSampler, IsAGridOnlyWhereOneFitsTheBudget) {
  const auto finite = ParseSpace(Json::parse(R"({"a":{"int":[1,3]},"b":{"choice":[1,2]}})"));
  EXPECT_EQ(ResolveSampler({"auto", 1, 3, 6}, finite), "grid");
  EXPECT_EQ(ResolveSampler({"auto", 1, 3, 5}, finite), "portfolio");
  const auto continuous = ParseSpace(Json::parse(kConditional));
  EXPECT_EQ(ResolveSampler({"auto", 1, 3, 1000}, continuous), "portfolio");
}

TEST(Samplers, ListsWhatExistsForAnUnknownName) {
  try {
    MakeSampler({"magic", 1, 3, 5}, ParseSpace(Json::object()));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_THAT(error.what(), testing::HasSubstr("unknown sampler 'magic'; valid are 'auto', 'grid'"));
  }
}

}  // namespace
}  // namespace slipway::ensemble
