#include <gmock/gmock.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "bench/samplers/functions.h"
#include "bench/samplers/search_run.h"
#include "ensemble/model/random.h"
#include "ensemble/samplers/sampler.h"
#include "ensemble/search/quadratic/quadratic_model.h"

namespace slipway::ensemble {
namespace {

using Numbers = std::vector<double>;

std::vector<Numbers> RandomPlaces(std::size_t count, std::size_t d, std::uint64_t seed) {
  std::vector<Numbers> places(count, Numbers(d));
  const CounterRandom random(seed, 0, "places");
  std::uint32_t draw = 0;
  for (auto& place : places) {
    for (double& x : place) x = random.Unit(draw++);
  }
  return places;
}

/// 3 + 2 a - b + 4 a a + a b + 0.5 b b - c c
double Known(const Numbers& x) {
  return 3 + 2 * x[0] - x[1] + 4 * x[0] * x[0] + x[0] * x[1] + 0.5 * x[1] * x[1] - x[2] * x[2];
}

TEST(QuadraticModel, IsTheFunctionItselfWhenThatIsQuadratic) {
  const auto places = RandomPlaces(10, 3, 1);  // as many as the model has coefficients
  Numbers values;
  for (const auto& place : places) values.push_back(1e6 * Known(place));
  const auto model = FitQuadratic(places, values, places[4]);
  ASSERT_TRUE(model);
  for (const auto& place : RandomPlaces(20, 3, 2)) {
    Numbers step = place;
    for (std::size_t i = 0; i < 3; ++i) step[i] -= places[4][i];
    EXPECT_NEAR(model->ChangeAt(step), 1e6 * (Known(place) - Known(places[4])), 50);
  }
}

TEST(QuadraticModel, GoesThroughFewerPointsWithTheLeastCurvature) {
  const auto places = RandomPlaces(6, 3, 3);
  Numbers values, linear;
  for (const auto& place : places) {
    values.push_back(Known(place));
    linear.push_back(1 + 2 * place[0] - 5 * place[2]);
  }
  const auto model = FitQuadratic(places, values, places[0]);
  for (std::size_t i = 0; i < places.size(); ++i) {
    Numbers step = places[i];
    for (std::size_t j = 0; j < 3; ++j) step[j] -= places[0][j];
    EXPECT_NEAR(model->ChangeAt(step), values[i] - values[0], 1e-6);
  }
  const auto flat = FitQuadratic(places, linear, places[0]);
  for (const double bend : flat->curvature) EXPECT_NEAR(bend, 0, 1e-6);
}

TEST(QuadraticModel, IsNothingWhereThereIsNothingToLearn) {
  const auto places = RandomPlaces(6, 2, 3);
  EXPECT_FALSE(FitQuadratic(places, Numbers(6, 7.0), places[0]));
  EXPECT_FALSE(FitQuadratic(std::vector<Numbers>(6, places[0]), {1, 2, 3, 4, 5, 6}, places[0]));
  auto doubled = places;
  doubled.push_back(places[2]);
  EXPECT_TRUE(FitQuadratic(doubled, {1, 2, 3, 4, 5, 6, 3.5}, places[0]));
}

TEST(SmallestWithin, IsNotBeatenByAnyOtherPlace) {
  rc::check("no random place in the ball and the box is lower", [] {
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    const std::size_t d = *rc::gen::inRange<std::size_t>(1, 5);
    const CounterRandom random(seed, 1, "model");
    QuadraticModel model{Numbers(d), Numbers(d * d)};
    std::uint32_t draw = 0;
    for (double& g : model.gradient) g = 2 * random.Unit(draw++) - 1;
    for (std::size_t i = 0; i < d; ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        model.curvature[i * d + j] = model.curvature[j * d + i] = 6 * random.Unit(draw++) - 2;
      }
    }
    Numbers low(d), high(d);
    for (double& at : low) at = -random.Unit(draw++);
    for (double& at : high) at = random.Unit(draw++);
    const double radius = 0.05 + random.Unit(draw++);
    const auto found = SmallestWithin(model, radius, low, high);
    double length = 0;
    for (std::size_t i = 0; i < d; ++i) {
      RC_ASSERT(found[i] >= low[i] && found[i] <= high[i]);
      length += found[i] * found[i];
    }
    RC_ASSERT(std::sqrt(length) <= radius * (1 + 1e-6));
    const double reached = model.ChangeAt(found);
    RC_ASSERT(reached <= 1e-12);
    // With the box out of the way it is the minimum of the ball.
    const Numbers far_low(d, -10), far_high(d, 10);
    const double least = model.ChangeAt(SmallestWithin(model, radius, far_low, far_high));
    for (const auto& place : RandomPlaces(200, d, seed)) {
      Numbers step = place;
      double size = 0;
      for (double& at : step) at = 2 * at - 1;
      for (const double at : step) size += at * at;
      for (double& at : step) at *= radius / std::max(1.0, std::sqrt(size));
      for (double& at : step) at = std::clamp(at, -radius, radius);
      double within = 0;
      for (const double at : step) within += at * at;
      if (std::sqrt(within) <= radius) RC_ASSERT(least <= model.ChangeAt(step) + 1e-9);
    }
  });
}

constexpr const char* kMixed = R"({"o":{"choice":["a","b"]},"x":{"uniform":[0,1]},"n":{"int":[1,6]},
  "y":{"log":[1e-3,1],"when":{"o":"a"}},"z":{"uniform":[0,1],"when":{"n":[4,5,6]}}})";

double MixedValue(const Point& point) {
  double sum = Find(point, "y") ? 0.0 : 0.3;
  sum += std::pow(std::get<double>(*Find(point, "x")) - 0.3, 2);
  sum += 0.05 * std::abs(static_cast<double>(std::get<std::int64_t>(*Find(point, "n"))) - 4);
  if (const auto* y = Find(point, "y")) sum += 0.1 * std::pow(std::log10(std::get<double>(*y)) + 2, 2);
  return sum;
}

TrialRecord Row(TrialNumber number, const Point& point) {
  TrialRecord trial;
  trial.number = number;
  trial.state = TrialState::kRunning;
  trial.parameters = point;
  trial.configuration = ConfigurationHash(point);
  return trial;
}

void End(TrialRecord& trial) {
  trial.state = trial.number % 11 == 0 ? TrialState::kFailed : TrialState::kComplete;
  if (trial.state == TrialState::kComplete) trial.objective = MixedValue(trial.parameters);
}

/// Asks with some trials open and some failed; each ask also by a sampler made for it.
TEST(QuadraticSampler, AsksTheSameAfterARestartWithTrialsOpenAndFailed) {
  const auto space = ParseSpace(Json::parse(kMixed));
  SamplerSettings settings{"quadratic", 4};
  settings.goal = Goal::kMinimize;
  const auto lived = MakeSampler(settings, space);
  TrialTable table;
  for (TrialNumber trial = 0; trial < 90; ++trial) {
    const auto point = lived->Ask(trial, table);
    EXPECT_EQ(point, MakeSampler(settings, space)->Ask(trial, table)) << "trial " << trial;
    EXPECT_TRUE(IsActive(space.parameters()[3], *point) == (Find(*point, "y") != nullptr));
    EXPECT_FALSE(table.ContainsConfiguration(ConfigurationHash(*point)));
    table.Add(Row(trial, *point));
    // Not in the order of the asks, and one of four stays open for long.
    if (trial % 4 == 3) {
      for (const auto ended : {trial - 1, trial - 3, trial}) End(table.Edit(ended));
    }
    if (trial % 20 == 19) End(table.Edit(trial - 18));
  }
}

TEST(QuadraticSampler, BearsDegenerateResults) {
  const auto space = ParseSpace(Json::parse(kMixed));
  const std::vector<double (*)(TrialNumber)> results = {
      [](TrialNumber) { return 1.0; }, [](TrialNumber trial) { return trial == 7 ? -1e300 : 1e-300; },
      [](TrialNumber trial) { return trial % 2 == 0 ? 1e308 : -1e308; }};
  for (const auto result : results) {
    const auto sampler = MakeSampler({"quadratic", 1}, space);
    TrialTable table;
    for (TrialNumber trial = 0; trial < 60; ++trial) {
      const auto point = sampler->Ask(trial, table);
      ASSERT_TRUE(point) << trial;
      for (const auto& [name, domain, when] : space.parameters()) {
        const auto* value = Find(*point, name);
        EXPECT_TRUE(value == nullptr || Contains(domain, *value)) << name;
      }
      table.Add(Row(trial, *point));
      table.Edit(trial).state = TrialState::kComplete;
      table.Edit(trial).objective = result(trial);
    }
  }
}

TEST(QuadraticSampler, UsesSmallAndStrangeSpacesUp) {
  for (const auto& [text, size] :
       std::vector<std::pair<const char*, int>>{{R"({"a":{"int":[1,5]},"b":{"choice":["x","y"]}})", 10},
                                                {R"({"b":{"choice":["x","y","z"]}})", 3},
                                                {"{}", 1}}) {
    const auto sampler = MakeSampler({"quadratic", 1}, ParseSpace(Json::parse(text)));
    TrialTable table;
    std::set<std::string> hashes;
    for (TrialNumber trial = 0; trial < size; ++trial) {
      table.Add(Row(trial, *sampler->Ask(trial, table)));
      hashes.insert(table.at(trial).configuration);
      table.Edit(trial).state = TrialState::kComplete;
      table.Edit(trial).objective = static_cast<double>(trial);
    }
    EXPECT_EQ(hashes.size(), static_cast<std::size_t>(size)) << text;
  }
}

double RegretOn(const char* name, int evaluations, int parallel, std::uint64_t seed) {
  const auto& function = bench::FindFunction(name);
  const bench::Task task{"quadratic", function.Space(), seed, evaluations, parallel};
  return bench::RunSearch(*bench::MakeOwnSearcher(task), function, task).regret.at(evaluations);
}

TEST(QuadraticSampler, FindsMinimaOfSmoothFunctions) {
  int branin = 0, ellipsoid = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    branin += RegretOn("branin", 80, 1, seed) < 1e-5;
    ellipsoid += RegretOn("ellipsoid8", 150, 1, seed) < 1e-3;
  }
  EXPECT_GE(branin, 4);
  EXPECT_GE(ellipsoid, 4);
}

TEST(QuadraticSampler, StillFindsThemWithFourAsksOpen) {
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) found += RegretOn("branin", 120, 4, seed) < 1e-3;
  EXPECT_GE(found, 4);
}

TEST(QuadraticSampler, ConvergesWithEightAsksOpen) {
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) found += RegretOn("branin", 200, 8, seed) < 1e-10;
  EXPECT_GE(found, 4);
}

}  // namespace
}  // namespace slipway::ensemble
