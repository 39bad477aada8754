#include "ensemble/search/numbers/normal.h"

#include <gmock/gmock.h>
#include <rapidcheck.h>

#include <cmath>
#include <limits>

#include "ensemble/search/numbers/draws.h"

namespace slipway::ensemble {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(Normal, QuantilesAreThoseOfTheTables) {
  EXPECT_DOUBLE_EQ(NormalQuantile(0.5), 0);
  EXPECT_NEAR(NormalQuantile(0.975), 1.959963984540054, 1e-14);
  EXPECT_NEAR(NormalQuantile(0.001), -3.090232306167813, 1e-14);
  EXPECT_NEAR(NormalQuantile(1e-20), -9.262340089798408, 1e-13);
  EXPECT_EQ(NormalQuantile(0), -kInfinity);
  EXPECT_EQ(NormalQuantile(1), kInfinity);
}

TEST(Normal, MassesStayExactFarOut) {
  EXPECT_NEAR(NormalMass(-1, 1), 0.6826894921370859, 1e-15);
  EXPECT_NEAR(NormalMass(10, kInfinity) / 7.619853024160527e-24, 1, 1e-12);
  EXPECT_EQ(NormalMass(10, 11), NormalMass(-11, -10));
}

TEST(Normal, TruncatedQuantilesLieWithinTheirBorders) {
  rc::check([] {
    const double low = *rc::gen::inRange(-5000, 5000) / 100.0;
    const double width = *rc::gen::inRange(1, 5000) / 100.0;
    const double part = *rc::gen::inRange(0, 1001) / 1000.0;
    const double at = TruncatedNormalQuantile(low, low + width, part);
    RC_ASSERT(at >= low && at <= low + width);
  });
  EXPECT_NEAR(TruncatedNormalQuantile(-kInfinity, kInfinity, 0.975), 1.959963984540054, 1e-14);
  EXPECT_NEAR(TruncatedNormalQuantile(0, kInfinity, 0.95), 1.959963984540054, 1e-14);
}

TEST(Draws, AreNormalWhereTheySaySo) {
  Draws draws(1, 2, "test");
  double sum = 0, squares = 0;
  constexpr int kCount = 20'000;
  for (int i = 0; i < kCount; ++i) {
    const double x = draws.Normal();
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / kCount, 0, 0.03);
  EXPECT_NEAR(squares / kCount, 1, 0.04);
}

TEST(Draws, FollowWeights) {
  Draws draws(1, 2, "test");
  const double weights[] = {0, 1, 3, 0};
  int counts[4] = {};
  for (int i = 0; i < 4000; ++i) ++counts[draws.Weighted(weights)];
  EXPECT_EQ(counts[0] + counts[3], 0);
  EXPECT_NEAR(counts[2], 3000, 120);
  EXPECT_EQ(draws.Weighted(std::vector<double>{0, 0}), 0u);
}

TEST(Draws, AnotherAttemptIsAnotherSequence) {
  Draws first(1, 2, "test"), again(1, 2, "test"), second(1, 2, "test", 1);
  const double unit = first.Unit();
  EXPECT_EQ(again.Unit(), unit);
  EXPECT_NE(second.Unit(), unit);
}

}  // namespace
}  // namespace slipway::ensemble
