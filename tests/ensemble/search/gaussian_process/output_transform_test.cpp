#include "ensemble/search/gaussian_process/output_transform.h"

#include <gmock/gmock.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace slipway::ensemble {
namespace {

using testing::Each;

TEST(OutputTransform, GivesMeanZeroAndVarianceOne) {
  for (const auto scale : {OutputScale::kClipped, OutputScale::kLog}) {
    const auto values = TransformValues(std::vector<double>{3, 1, 4, 1.5, 9, 2, 6, 5, 300}, scale);
    const double sum = std::accumulate(values.begin(), values.end(), 0.0);
    const double squares = std::inner_product(values.begin(), values.end(), values.begin(), 0.0);
    EXPECT_NEAR(sum, 0, 1e-12);
    EXPECT_NEAR(squares, 9, 1e-12);
  }
}

TEST(OutputTransform, KeepsTheOrderOfAnyFiniteValues) {
  rc::check([](std::vector<double> values, bool log) {
    std::erase_if(values, [](double value) { return !std::isfinite(value); });
    const auto result = TransformValues(values, log ? OutputScale::kLog : OutputScale::kClipped);
    RC_ASSERT(result.size() == values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      RC_ASSERT(std::isfinite(result[i]));
      for (std::size_t j = 0; j < i; ++j) RC_ASSERT(values[i] >= values[j] || result[i] <= result[j]);
    }
  });
}

TEST(OutputTransform, TellsItsSlopes) {
  for (const auto scale : {OutputScale::kLinear, OutputScale::kLog}) {
    std::vector<double> values = {3, 1, 4, 1.5, 9, 2, 6, 5, 300};
    ASSERT_TRUE(AreSkewed(values));
    const auto scaled = TransformValues(values, scale);
    // The slope of the logarithm, 1 / (value - best + unit), where its unit is the least distance from the best.
    const double rise = scale == OutputScale::kLog ? std::log(299.5 / 0.5) : 299;
    const double by_deviation = (scaled[8] - scaled[1]) / rise;
    double sum = 0;
    for (const double value : values) {
      sum += std::log(by_deviation) - (scale == OutputScale::kLog ? std::log(value - 1 + 0.5) : 0);
    }
    EXPECT_NEAR(SumOfLogSlopes(values, scale), sum, 1e-9);
  }
}

TEST(OutputTransform, BearsTheLargestNumbersThereAre) {
  const double most = std::numeric_limits<double>::max();
  const auto values = TransformValues(std::vector<double>{most, -most, 0, 1, 2, 3, 4, 5, 6}, OutputScale::kLog);
  EXPECT_TRUE(std::ranges::all_of(values, [](double value) { return std::isfinite(value); }));
}

TEST(OutputTransform, SpreadsValuesNearTheBestThatOneHugeValueWouldHide) {
  std::vector<double> values;
  for (int i = 0; i < 20; ++i) values.push_back(i);
  values.push_back(1e9);
  for (const auto scale : {OutputScale::kClipped, OutputScale::kLog}) {
    const auto result = TransformValues(values, scale);
    EXPECT_GT(result[10] - result[0], 0.3);
  }
}

TEST(OutputTransform, GivesZeroWhereNothingDiffers) {
  EXPECT_THAT(TransformValues(std::vector<double>(12, 7.5), OutputScale::kLog), Each(0.0));
  EXPECT_TRUE(TransformValues(std::vector<double>{}, OutputScale::kClipped).empty());
}

}  // namespace
}  // namespace slipway::ensemble
