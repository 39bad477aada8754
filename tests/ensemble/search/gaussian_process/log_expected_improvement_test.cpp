#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <numbers>

#include "ensemble/search/gaussian_process/acquisition_search.h"

namespace slipway::ensemble {
namespace {

TEST(LogImprovement, KnowsTheValuesOfTheTables) {
  EXPECT_NEAR(LogImprovement(0, 1, 0).value, -0.5 * std::log(2 * std::numbers::pi), 1e-14);
  EXPECT_NEAR(std::exp(LogImprovement(-1, 1, 0).value), 0.24197072451914337 + 0.8413447460685429, 1e-14);
  // Far better than the best: all of the distance is gained.
  EXPECT_NEAR(std::exp(LogImprovement(-50, 2, 0).value), 50, 1e-12);
}

TEST(LogImprovement, FollowsTheAsymptoticSeriesFarOut) {
  for (const double u : {20.0, 100.0, 1e4}) {
    const double series = 1 - 3 / (u * u) + 15 / std::pow(u, 4) - 105 / std::pow(u, 6);
    const double expected = -0.5 * u * u - 0.5 * std::log(2 * std::numbers::pi) - 2 * std::log(u) + std::log(series);
    EXPECT_NEAR(LogImprovement(u, 1, 0).value, expected, 1e-6 + 1e-14 * u * u) << u;
  }
}

TEST(LogImprovement, HasNoStepWhereTheFormulaChanges) {
  EXPECT_NEAR(LogImprovement(5 - 1e-12, 1, 0).value, LogImprovement(5 + 1e-12, 1, 0).value, 1e-10);
  EXPECT_NEAR(LogImprovement(5 - 1e-12, 1, 0).by_mean, LogImprovement(5 + 1e-12, 1, 0).by_mean, 1e-9);
}

TEST(LogImprovement, HasTheGradientOfItsValue) {
  rc::check([](int mean_step, int deviation_step) {
    const double mean = 0.01 * (mean_step % 3000);
    const double deviation = 0.01 * (1 + std::abs(deviation_step % 500));
    const auto at = LogImprovement(mean, deviation, 0.3);
    const double h = 1e-6 * deviation;
    const double by_mean =
        (LogImprovement(mean + h, deviation, 0.3).value - LogImprovement(mean - h, deviation, 0.3).value) / (2 * h);
    const double by_deviation =
        (LogImprovement(mean, deviation + h, 0.3).value - LogImprovement(mean, deviation - h, 0.3).value) / (2 * h);
    RC_ASSERT(std::abs(at.by_mean - by_mean) <= 1e-4 * (1 + std::abs(by_mean)));
    RC_ASSERT(std::abs(at.by_deviation - by_deviation) <= 1e-4 * (1 + std::abs(by_deviation)));
  });
}

TEST(LogImprovement, ShowsTheWayWhereTheImprovementItselfIsRoundedToZero) {
  const auto far = LogImprovement(1e5, 0.01, 0);
  EXPECT_TRUE(std::isfinite(far.value));
  EXPECT_LT(far.by_mean, 0);
  EXPECT_GT(far.by_deviation, 0);
}

}  // namespace
}  // namespace slipway::ensemble
