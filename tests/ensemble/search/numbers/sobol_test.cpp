#include "ensemble/search/numbers/sobol.h"

#include <gmock/gmock.h>
#include <rapidcheck.h>

#include <cmath>
#include <set>
#include <utility>

namespace slipway::ensemble {
namespace {

/// How many of the first 2^m points' coordinates fall into different ones of 2^m intervals.
std::size_t IntervalsHit(const ScrambledSobol& points, std::size_t dimension, int m) {
  std::set<int> hit;
  for (std::uint64_t i = 0; i < (std::uint64_t{1} << m); ++i) {
    hit.insert(static_cast<int>(std::ldexp(points.At(i, dimension), m)));
  }
  return hit.size();
}

TEST(ScrambledSobol, HitsEachIntervalOfEveryAxisOnce) {
  const ScrambledSobol points(11, 40);
  for (std::size_t d = 0; d < 40; ++d) EXPECT_EQ(IntervalsHit(points, d, 7), 128u) << "dimension " << d;
}

TEST(ScrambledSobol, HitsEachBoxOfTheFirstTwoAxesOnce) {
  for (const std::uint64_t seed : {0u, 1u, 99u}) {
    const ScrambledSobol points(seed, 2);
    for (int wide = 0; wide <= 8; ++wide) {
      std::set<std::pair<int, int>> hit;
      for (std::uint64_t i = 0; i < 256; ++i) {
        hit.emplace(std::ldexp(points.At(i, 0), wide), std::ldexp(points.At(i, 1), 8 - wide));
      }
      EXPECT_EQ(hit.size(), 256u) << "seed " << seed << ", " << wide << " digits of the first axis";
    }
  }
}

TEST(ScrambledSobol, IsAFunctionOfSeedIndexAndDimensionOnly) {
  const ScrambledSobol points(5, 8), again(5, 8), wider(5, 20), other(6, 8);
  EXPECT_EQ(points.Point(1'000'003), again.Point(1'000'003));
  EXPECT_EQ(points.At(17, 6), wider.At(17, 6));
  EXPECT_NE(points.Point(17), other.Point(17));
  EXPECT_NE(points.At(17, 0), points.At(17, 1));
}

TEST(ScrambledSobol, MakesAveragesUnbiasedAndFarBetterThanRandomOnes) {
  // The mean of a product with mean 1 over 256 points: random points would have a standard deviation of 0.06.
  double sum = 0, squares = 0;
  constexpr int kSeeds = 100;
  for (int seed = 0; seed < kSeeds; ++seed) {
    const ScrambledSobol points(static_cast<std::uint64_t>(seed), 4);
    double mean = 0;
    for (std::uint64_t i = 0; i < 256; ++i) {
      double product = 1;
      for (const double u : points.Point(i)) product *= 1.5 - u;
      mean += product / 256;
    }
    sum += mean - 1;
    squares += (mean - 1) * (mean - 1);
  }
  EXPECT_NEAR(sum / kSeeds, 0, 0.001);
  EXPECT_LT(std::sqrt(squares / kSeeds), 0.004);
}

TEST(ScrambledSobol, StaysInTheUnitCubeAtAnyIndexAndBeyondTheTable) {
  const ScrambledSobol points(3, ScrambledSobol::kMaxDimensions + 2);
  EXPECT_TRUE(rc::check("0 <= u < 1", [&] {
    const auto index = *rc::gen::inRange<std::uint64_t>(0, std::uint64_t{1} << 53);
    const auto dimension = *rc::gen::inRange<std::size_t>(0, points.dimensions());
    const double u = points.At(index, dimension);
    RC_ASSERT(u >= 0 && u < 1);
  }));
  EXPECT_NE(points.At(4, ScrambledSobol::kMaxDimensions), points.At(5, ScrambledSobol::kMaxDimensions));
  EXPECT_TRUE(ScrambledSobol(3, 0).Point(4).empty());
}

}  // namespace
}  // namespace slipway::ensemble
