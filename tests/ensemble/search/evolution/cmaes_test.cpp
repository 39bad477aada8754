#include "ensemble/search/evolution/cmaes.h"

#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "ensemble/search/cube/free_points.h"
#include "tests/ensemble/search/snapped.h"

namespace slipway::ensemble {
namespace {

using Function = double (*)(const std::vector<double>& x);

double Sphere(const std::vector<double>& x) {
  double sum = 0;
  for (const double value : x) sum += value * value;
  return sum;
}

double Ellipsoid(const std::vector<double>& x) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    sum += std::pow(1e6, static_cast<double>(i) / static_cast<double>(x.size() - 1)) * x[i] * x[i];
  }
  return sum;
}

double Rosenbrock(const std::vector<double>& x) {
  double sum = 0;
  for (std::size_t i = 0; i + 1 < x.size(); ++i) {
    sum += 100 * std::pow(x[i + 1] - x[i] * x[i], 2) + std::pow(1 - x[i], 2);
  }
  return sum;
}

/// Evaluations until `function` is below 1e-9, from 0.1 in all of 10 axes with sigma 0.1;
/// 30,000 at most.
int EvaluationsUntilSolved(Function function, std::uint64_t seed) {
  CovarianceAdaptation search(std::vector<double>(10, 0.1), 0.1, 10);
  int evaluations = 0;
  for (std::int64_t generation = 0; evaluations < 30'000; ++generation) {
    Draws draws(seed, generation, "test");
    std::vector<std::vector<double>> points;
    for (std::size_t i = 0; i < search.population(); ++i, ++evaluations) points.push_back(search.Draw(draws));
    std::ranges::sort(points, {}, function);
    if (function(points.front()) < 1e-9) break;
    search.Update(points);
  }
  return evaluations;
}

double MeanEvaluations(Function function) {
  int sum = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) sum += EvaluationsUntilSolved(function, seed);
  return sum / 5.0;
}

// The middles are what the package `cmaes` 0.9.1 of Python needs on average, measured in the same way.
TEST(CovarianceAdaptation, SolvesTheSphereAsFastAsItIsKnownTo) { EXPECT_NEAR(MeanEvaluations(Sphere), 1217, 200); }
TEST(CovarianceAdaptation, SolvesTheEllipsoidAsFastAsItIsKnownTo) {
  EXPECT_NEAR(MeanEvaluations(Ellipsoid), 4056, 800);
}
TEST(CovarianceAdaptation, SolvesRosenbrockAsFastAsItIsKnownTo) { EXPECT_NEAR(MeanEvaluations(Rosenbrock), 4966, 800); }

TEST(CovarianceAdaptation, WeightsAreThoseOfTheTutorial) {
  const CovarianceAdaptationRates rates(10, 10);
  EXPECT_EQ(rates.parents, 5u);
  EXPECT_NEAR(rates.weights[0], 0.4563, 1e-4);
  EXPECT_NEAR(rates.effective, 3.1673, 1e-4);
  double sum = 0;
  for (std::size_t i = 0; i < 5; ++i) sum += rates.weights[i];
  EXPECT_NEAR(sum, 1, 1e-12);
  EXPECT_LT(rates.weights[9], rates.weights[6]);
}

TEST(CovarianceAdaptation, TheMarginKeepsNeighbouringPlacesWithinReach) {
  const Encoding encoding(ParseSpace(Json::parse(R"({"a":{"int":[0,9]}})")));
  for (const double mean : {0.05, 0.31, 0.5, 0.66, 0.99}) {
    CovarianceAdaptation search({mean}, 1e-6, 6);
    search.KeepMargin(0, PartAround(encoding, 0, mean), 0.1);
    Draws draws(1, 1, "test");
    int outside = 0;
    for (int i = 0; i < 4000; ++i) {
      const double place = std::clamp(std::floor(search.Draw(draws)[0] * 10), 0.0, 9.0);
      outside += place == std::floor(mean * 10) ? 0 : 1;
    }
    EXPECT_GT(outside / 4000.0, 0.08) << mean;
    EXPECT_LT(outside / 4000.0, 0.6) << mean;
  }
}

TEST(CovarianceAdaptation, FarPointsOfOthersDoNotThrowItOff) {
  CovarianceAdaptation search({0.5, 0.5}, 1e-4, 6);
  search.Update(std::vector<std::vector<double>>(6, {1e9, -1e9}));
  EXPECT_NEAR(search.mean()[0], 0.5, 1e-3);
  EXPECT_TRUE(std::isfinite(search.Deviation(0)));
}

class Cmaes : public testing::Test {
 protected:
  void Run(const char* space, int trials, double (*value)(const Coordinates& at)) {
    encoding_.emplace(ParseSpace(Json::parse(space)));
    proposer_.emplace(*encoding_, 1);
    known_ = {};
    for (TrialNumber trial = 0; trial < trials; ++trial) {
      auto at = Snapped(*encoding_, proposer_->Propose(known_, trial, 0));
      const double result = value(at);
      known_.complete.push_back({trial, std::move(at), result, {}});
    }
  }
  double Best(std::size_t from = 0) const {
    double best = known_.complete[from].value;
    for (std::size_t i = from; i < known_.complete.size(); ++i) best = std::min(best, known_.complete[i].value);
    return best;
  }

  std::optional<Encoding> encoding_;
  std::optional<CmaesProposer> proposer_;
  Observations known_;
};

TEST_F(Cmaes, FindsAnOptimumOnTheBorder) {
  Run(R"({"x":{"uniform":[0,1]},"y":{"uniform":[0,1]}})", 250, [](const Coordinates& at) { return at[0] - at[1]; });
  EXPECT_LT(Best(), -1 + 5e-3);
}

TEST_F(Cmaes, FindsOrderedAndCategoricalOptima) {
  Run(R"({"a":{"int":[0,19]},"b":{"int":[0,1]},"c":{"choice":["p","q","r","s"]},
          "d":{"int":[1,1000]},"x":{"uniform":[0,1]}})",
      400, [](const Coordinates& at) {
        return std::pow(at[0] - 0.725, 2) + (at[1] < 0.5 ? 0.2 : 0) + (at[2] == 3 ? 0 : 0.2) +
               std::pow(at[3] - 0.1995, 2) + std::pow(at[4] - 0.6, 2);
      });
  EXPECT_LT(Best(), 1e-3);
}

TEST_F(Cmaes, InactiveAxesDoNotDisturb) {
  Run(R"({"c":{"choice":["p","q"]},"x":{"uniform":[0,1],"when":{"c":"p"}},"y":{"uniform":[0,1]}})", 200,
      [](const Coordinates& at) { return (at[0] == 0 ? std::pow(at[1] - 0.3, 2) : 0.1) + std::pow(at[2] - 0.8, 2); });
  EXPECT_LT(Best(), 1e-3);
}

TEST_F(Cmaes, OnlyCategoricalAxesWorkToo) {
  Run(R"({"c":{"choice":[0,1,2,3]},"d":{"choice":[0,1,2,3]},"e":{"choice":[0,1,2,3]}})", 150,
      [](const Coordinates& at) { return at[0] + at[1] + at[2]; });
  EXPECT_EQ(Best(), 0);
  double late = 0;
  for (std::size_t i = 100; i < 150; ++i) late += known_.complete[i].value / 50;
  EXPECT_LT(late, 1.5);  // by chance it would be 4.5
}

TEST_F(Cmaes, BeginsAnewWhenARunHasConverged) {
  Run(R"({"x":{"uniform":[0,1]},"y":{"uniform":[0,1]}})", 1500,
      [](const Coordinates& at) { return std::pow(at[0] - 0.3, 2) + std::pow(at[1] - 0.3, 2); });
  EXPECT_LT(Best(), 1e-15);
  const auto converged = std::ranges::find_if(known_.complete, [](const auto& each) { return each.value < 1e-12; });
  EXPECT_TRUE(std::any_of(converged, known_.complete.end(), [](const auto& each) { return each.value > 0.01; }))
      << "only a new run goes so far from the optimum again";
}

TEST_F(Cmaes, ALateTrialGivesWhatAnInTimeTrialWouldHaveGiven) {
  Run(R"({"x":{"uniform":[0,1]},"y":{"uniform":[0,1]}})", 60, [](const Coordinates& at) { return at[0] + at[1]; });
  Observations without = known_;
  const auto late = without.complete[41];
  without.complete.erase(without.complete.begin() + 41);
  CmaesProposer lived(*encoding_, 1);
  lived.Propose(without, 60, 0);
  without.complete.insert(without.complete.begin() + 41, late);
  EXPECT_EQ(lived.Propose(without, 60, 0), CmaesProposer(*encoding_, 1).Propose(known_, 60, 0));
}

}  // namespace
}  // namespace slipway::ensemble
