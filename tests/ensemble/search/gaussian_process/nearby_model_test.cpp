#include "ensemble/search/gaussian_process/nearby_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "ensemble/search/gaussian_process/gaussian_process.h"
#include "ensemble/search/numbers/draws.h"

namespace slipway::ensemble {
namespace {

using NearbyFunction = std::function<double(double x, double y)>;

class NearbyModel : public testing::Test {
 protected:
  ExplainedResults Explain(const NearbyFunction& function) const {
    Draws draws(1, 0, "test");
    std::vector<Coordinates> places;
    std::vector<double> values;
    for (int i = 0; i < 40; ++i) {
      places.push_back({draws.Unit(), draws.Unit()});
      values.push_back(function(places.back()[0], places.back()[1]));
    }
    return ExplainResults(map_, places, values, 1e-4);
  }

  Encoding encoding_{ParseSpace(Json::parse(R"({"x":{"uniform":[0,1]},"y":{"uniform":[0,1]}})"))};
  FeatureMap map_{encoding_};
};

double CurvedValley(double x, double y) {
  const double a = 4 * x - 2, b = 4 * y - 1;
  return 10 * (b - a * a) * (b - a * a) + (1 - a) * (1 - a);
}

/// Whether the first three results are as far apart as they were, but for a factor.
bool AreLinear(const ExplainedResults& results, double ratio) {
  const auto& v = results.data.values;
  return std::abs((v[2] - v[0]) / (v[1] - v[0]) - ratio) < 1e-9;
}

TEST_F(NearbyModel, TakesASmoothValleyAsItIs) {
  const auto results = Explain(CurvedValley);
  EXPECT_EQ(results.kernel.shape.smoothness, Smoothness::kAnalytic);
  Draws draws(1, 0, "test");
  double first[3];
  for (double& value : first) {
    const double x = draws.Unit();
    value = CurvedValley(x, draws.Unit());
  }
  EXPECT_TRUE(AreLinear(results, (first[2] - first[0]) / (first[1] - first[0])));
}

TEST_F(NearbyModel, TakesTheLogarithmOfWhatGrowsLikeAnExponential) {
  const auto wave = [](double x, double y) { return std::exp(6 * std::sin(3 * x) + 5 * y); };
  const auto results = Explain(wave);
  const auto [low, high] = std::ranges::minmax(results.data.values);
  EXPECT_LT(high - low, 5);  // of the values themselves it is more
}

TEST_F(NearbyModel, TakesAKinkForRough) {
  const auto kink = [](double x, double y) { return std::sqrt(std::abs(x - 0.4)) + 0.2 * y; };
  EXPECT_EQ(Explain(kink).kernel.shape.smoothness, Smoothness::kTwice);
}

TEST_F(NearbyModel, BearsResultsThatAreAllTheSame) {
  const auto results = Explain([](double, double) { return 3.0; });
  EXPECT_EQ(results.data.size(), 40u);
  const GaussianProcess process(results.kernel, map_, results.data);
  EXPECT_NEAR(process.Means().front(), 0, 1e-9);
}

TEST_F(NearbyModel, BearsTheLargestNumbersThereAre) {
  const auto cliff = [](double x, double y) { return x > 0.8 ? std::numeric_limits<double>::max() : y; };
  const auto results = Explain(cliff);
  for (const double value : results.data.values) EXPECT_TRUE(std::isfinite(value));
}

}  // namespace
}  // namespace slipway::ensemble
