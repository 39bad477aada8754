// Curves of any length keep their shape in few points.

#include "launcher/view/curve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace slipway::launcher {
namespace {

std::vector<double> ValuesOf(const std::vector<CurvePoint>& points) {
  std::vector<double> values;
  for (const auto& point : points) values.push_back(point.value);
  return values;
}

TEST(CurveThinner, KeepsAShortCurveAsItIs) {
  CurveThinner curve(100);
  for (int i = 0; i < 20; ++i) curve.Add({i * 1.0, std::sin(i), 0});
  const auto points = curve.Points();
  ASSERT_EQ(points.size(), 20u);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(points[static_cast<std::size_t>(i)].step, i);
}

TEST(CurveThinner, KeepsExtremesEndsAndOrderOfAMillionPoints) {
  CurveThinner curve(200);
  constexpr int kPoints = 1'000'000;
  for (int i = 0; i < kPoints; ++i) {
    const double peak = i == 123'456 ? 50 : i == 654'321 ? -50 : 0;
    curve.Add({i * 1.0, std::sin(i * 1e-4) + peak, i * 0.5});
  }
  const auto points = curve.Points();
  EXPECT_LE(points.size(), 202u);
  EXPECT_GE(points.size(), 50u);
  EXPECT_EQ(points.front().step, 0);
  EXPECT_EQ(points.back().step, kPoints - 1);
  EXPECT_EQ(points.back().time, (kPoints - 1) * 0.5);
  EXPECT_TRUE(std::ranges::is_sorted(points, {}, &CurvePoint::step));
  EXPECT_EQ(curve.count(), static_cast<std::uint64_t>(kPoints));
  const auto values = ValuesOf(points);
  EXPECT_THAT(values, testing::Contains(testing::Gt(49)));
  EXPECT_THAT(values, testing::Contains(testing::Lt(-49)));
  EXPECT_GT(curve.highest(), 49);
  EXPECT_LT(curve.lowest(), -49);
}

TEST(CurveThinner, KeepsWhatIsNotFinite) {
  CurveThinner curve(8);
  for (int i = 0; i < 1000; ++i) curve.Add({i * 1.0, i == 700 ? std::numeric_limits<double>::quiet_NaN() : 1.0, 0});
  EXPECT_EQ(curve.not_finite(), 1u);
  EXPECT_THAT(ValuesOf(curve.Points()), testing::Contains(testing::IsNan()));
  EXPECT_EQ(curve.lowest(), 1.0);
}

TEST(CurveThinner, HasNoExtremesWithoutFiniteValues) {
  CurveThinner curve(8);
  EXPECT_TRUE(curve.Points().empty());
  curve.Add({0, std::numeric_limits<double>::infinity(), 0});
  EXPECT_TRUE(std::isnan(curve.lowest()));
  EXPECT_EQ(curve.Points().size(), 1u);
}

}  // namespace
}  // namespace slipway::launcher
