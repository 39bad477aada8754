// The functions on which samplers are compared: their values, minima and spaces.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>
#include <set>

#include "bench/samplers/functions.h"
#include "core/error.h"
#include "ensemble/search/cube/free_points.h"

namespace slipway::bench {
namespace {

using ensemble::Point;

/// x_j = lo + (hi - lo) (0.1 + 0.07 j + 0.3 (j mod 3))
Point CheckPoint(const TestFunction& function) {
  Point point;
  int j = 0;
  const auto space = function.Space();
  for (const auto& parameter : space.parameters()) {
    const auto& range = std::get<ensemble::UniformDomain>(parameter.domain);
    point.emplace_back(parameter.name, range.low + (range.high - range.low) * (0.1 + 0.07 * j + 0.3 * (j % 3)));
    ++j;
  }
  return point;
}

TEST(TestFunctions, HaveTheValuesThatOthersCompute) {
  const std::vector<std::pair<const char*, double>> known = {
      {"branin", 37.855944242},   {"hartmann3", 0.254548565326}, {"hartmann6", 3.18507248539},
      {"ackley5", 13.7947581303}, {"ackley10", 16.9755119777},   {"rosen5", 351880.34625},
      {"rosen10", 5468563.1925},  {"levy10", 84.9541032372},     {"rastrigin5", 118.235085825}};
  for (const auto& [name, regret] : known) {
    const auto& function = FindFunction(name);
    EXPECT_NEAR(function.Regret(CheckPoint(function)) / regret, 1, 1e-9) << name;
  }
}

Point Best(const char* json) { return ensemble::PointFromJson(Json::parse(json)); }

Point Repeated(int dimensions, double value) {
  Point point;
  for (int i = 0; i < dimensions; ++i) point.emplace_back(fmt::format("x{}", i), value);
  return point;
}

Point Listed(const std::vector<double>& values) {
  Point point;
  for (std::size_t i = 0; i < values.size(); ++i) point.emplace_back(fmt::format("x{}", i), values[i]);
  return point;
}

Point BestOfDixonPrice() {
  std::vector<double> values;
  for (int i = 1; i <= 6; ++i) values.push_back(std::exp2(-(std::exp2(i) - 2) / std::exp2(i)));
  return Listed(values);
}

TEST(TestFunctions, ReachTheirMinima) {
  const std::vector<std::tuple<const char*, Point, double>> best = {
      {"branin", Listed({std::numbers::pi, 2.275}), 1e-12},
      {"hartmann3", Listed({0.114589, 0.555649, 0.852547}), 3e-6},
      {"hartmann6", Listed({0.20168952, 0.15001069, 0.47687398, 0.27533243, 0.31165162, 0.65730054}), 3e-6},
      {"ackley5", Repeated(5, 0), 1e-12},
      {"ackley10", Repeated(10, 0), 1e-12},
      {"rosen5", Repeated(5, 1), 1e-12},
      {"rosen10", Repeated(10, 1), 1e-12},
      {"levy10", Repeated(10, 1), 1e-12},
      {"rastrigin5", Repeated(5, 1.3), 1e-12},
      {"mixcond", Best(R"({"opt":"sgd","lr":0.012328467394420659,"batch":64,"layers":3,"drop":0.2,"mom":0.9,
                           "units_0":256,"units_1":128,"units_2":64})"),
       1e-12},
      {"michalewicz5", Listed({2.2029055, 1.5707963, 1.2849916, 1.9230585, 1.7204698}), 1e-7},
      {"griewank6", Repeated(6, 0), 1e-12},
      {"styblinski5", Repeated(5, -2.903534027771177), 1e-9},
      {"schwefel4", Repeated(4, 420.9687462275036), 1e-9},
      {"dixonprice6", BestOfDixonPrice(), 1e-12},
      {"ellipsoid8", Repeated(8, 1.5), 1e-12},
      {"border6", Listed({0, 0, 0, 0.6, 0.6, 0.6}), 1e-12},
      {"turned_rosen6", Repeated(6, 0.7), 1e-12},
      {"zakharov6", Repeated(6, 0), 1e-12},
      {"powell8", Repeated(8, 0), 1e-12},
      {"trid7", Listed({7, 12, 15, 16, 15, 12, 7}), 1e-12},
      {"mixed_waves6", Best(R"({"x0":2.3,"x1":2.3,"x2":2.3,"n0":2,"n1":2,"kind":"c"})"), 1e-12},
      {"noisy_branin", Listed({std::numbers::pi, 2.275}), 1e-12},
      {"noisy_ackley5", Repeated(5, 0), 1e-12},
      {"noisy_levy10", Repeated(10, 1), 1e-12},
      {"noisy_integers6", Best(R"({"depth":7,"width":512,"batch":64,"warmup":35,"heads":6,"kernel":5})"), 1e-12},
      {"noisy_tree", Best(R"({"model":"net","rate":0.001,"width":128,"layers":4,"skip":true,"scale":1.2})"), 1e-12},
      {"noisy_hartmann6", Listed({0.20168952, 0.15001069, 0.47687398, 0.27533243, 0.31165162, 0.65730054}), 3e-6},
      {"integers6", Best(R"({"depth":7,"width":512,"batch":64,"warmup":35,"heads":6,"kernel":5})"), 1e-12},
      {"letters6", Best(R"({"c0":"c","c1":"a","c2":"d","c3":"b","c4":"b","c5":"c"})"), 1e-12},
      {"tree", Best(R"({"model":"net","rate":0.001,"width":128,"layers":4,"skip":true,"scale":1.2})"), 1e-12}};
  ASSERT_EQ(best.size(), GoalFunctions().size() + OtherFunctions().size());
  for (const auto& [name, point, within] : best) EXPECT_NEAR(FindFunction(name).Regret(point), 0, within) << name;
}

TEST(TestFunctions, AreDefinedInTheirWholeSpacesAndNowhereBelowTheirMinima) {
  for (const auto* list : {&GoalFunctions(), &OtherFunctions()}) {
    for (const auto& function : *list) {
      const auto space = function.Space();
      for (std::uint32_t draw = 0; draw < 500; ++draw) {
        EXPECT_GE(function.Regret(RandomPoint(space, 1, 0, draw)), 0) << function.name;
      }
    }
  }
}

TEST(TestFunctions, AddNoiseThatIsAFunctionOfSeedAndTrial) {
  const auto& function = FindFunction("noisy_hartmann6");
  const auto point = CheckPoint(function);
  double sum = 0, squares = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    const double noise = function.Measured(point, 1, trial) - function.value(point);
    sum += noise;
    squares += noise * noise;
  }
  EXPECT_NEAR(sum / 1000, 0, 0.015);
  EXPECT_NEAR(std::sqrt(squares / 1000), 0.1, 0.01);
  EXPECT_EQ(function.Measured(point, 4, 2), function.Measured(point, 4, 2));
  EXPECT_EQ(FindFunction("branin").Measured(CheckPoint(FindFunction("branin")), 1, 1),
            FindFunction("branin").value(CheckPoint(FindFunction("branin"))));
}

TEST(TestFunctions, HaveDifferentNamesAndAreFoundByThem) {
  std::set<std::string> names;
  for (const auto* list : {&GoalFunctions(), &OtherFunctions()}) {
    for (const auto& function : *list) names.insert(function.name);
  }
  EXPECT_EQ(names.size(), GoalFunctions().size() + OtherFunctions().size());
  EXPECT_THROW(FindFunction("branim"), Error);
}

}  // namespace
}  // namespace slipway::bench
