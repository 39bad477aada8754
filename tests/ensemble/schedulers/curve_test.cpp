#include "ensemble/schedulers/curve.h"

#include <gmock/gmock.h>

#include "tests/ensemble/schedulers/scheduler_fixture.h"

namespace slipway::ensemble {
namespace {

TEST(Curve, KnowsItsBestAndTheReportsSince) {
  Curve curve;
  EXPECT_EQ(curve.best(), kInfinite);
  EXPECT_EQ(curve.CountSinceBest(), 0u);
  for (const double value : {3.0, 1.0, 1.0, 2.0}) {
    EXPECT_TRUE(curve.Add(static_cast<double>(curve.marks().size()), value));
  }
  EXPECT_EQ(curve.best(), 1.0);
  EXPECT_EQ(curve.CountSinceBest(), 2u) << "an equal value is no improvement";
}

TEST(Curve, WhatIsNotFiniteIsTheWorst) {
  Curve curve;
  curve.Add(1, kNotANumber);
  curve.Add(2, -kInfinite);
  EXPECT_EQ(curve.best(), kInfinite);
  curve.Add(3, 5);
  EXPECT_EQ(curve.best(), 5);
  EXPECT_EQ(curve.CountSinceBest(), 0u);
}

TEST(Curve, ARepeatedResourceHasItsLastValueAndIsNotFurther) {
  Curve curve;
  curve.Add(1, 4);
  curve.Add(2, 1);
  curve.Add(3, 2);
  EXPECT_FALSE(curve.Add(2, 9));
  EXPECT_FALSE(curve.Add(1.5, 3));
  ASSERT_EQ(curve.marks().size(), 4u);
  EXPECT_EQ(curve.marks()[1].resource, 1.5);
  EXPECT_EQ(curve.marks()[2].value, 9);
  EXPECT_EQ(curve.best(), 2);
  EXPECT_EQ(curve.CountSinceBest(), 0u);
  EXPECT_TRUE(curve.Add(4, 2));
  EXPECT_EQ(curve.CountSinceBest(), 1u);
}

std::vector<double> PassedBy(const Checks& checks, const std::vector<double>& resources) {
  Curve curve;
  std::vector<double> passed;
  for (const double resource : resources) {
    curve.Add(resource, 0);
    if (checks.PassedAt(curve, curve.marks().size() - 1)) passed.push_back(resource);
  }
  return passed;
}

TEST(Checks, EveryReportFromTheMinimumOnWithoutAnInterval) {
  EXPECT_THAT(PassedBy({2, 0}, {1, 1.9, 2, 2.5, 7}), testing::ElementsAre(2, 2.5, 7));
}

TEST(Checks, TheFirstReportAtOrBeyondEachOne) {
  EXPECT_THAT(PassedBy({2, 3}, {1, 2, 3, 4.9, 6, 7, 14, 15}), testing::ElementsAre(2, 6, 14));
}

TEST(Checks, RoundingsOfDecimalFractionsDoNotMissOne) {
  EXPECT_THAT(PassedBy({0.1, 0.1}, {0.1, 0.2, 0.1 + 0.1 + 0.1, 0.1 * 7}), testing::SizeIs(4));
  EXPECT_THAT(PassedBy({0, 0.1}, {0.05, 0.3, 0.35, 0.7 - 1e-16, 0.75}), testing::SizeIs(3));
}

}  // namespace
}  // namespace slipway::ensemble
