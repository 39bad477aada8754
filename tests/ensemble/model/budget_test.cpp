#include "ensemble/model/budget.h"

#include <gtest/gtest.h>

#include <cmath>

namespace slipway::ensemble {
namespace {

TEST(Meter, NeverEndsWithoutABudget) {
  Meter meter({}, {1e9, 1e9}, 0);
  meter.AddNodes(1000, 1);
  EXPECT_FALSE(meter.IsOver(1e9));
  EXPECT_TRUE(std::isinf(meter.SecondsLeft(1e9)));
}

TEST(Meter, CountsTheTimeOfEarlierManagers) {
  Meter meter({100.0, {}}, {60, 0}, 5);
  EXPECT_EQ(meter.SecondsLeft(5), 40);
  EXPECT_FALSE(meter.IsOver(44));
  EXPECT_TRUE(meter.IsOver(45));
}

TEST(Meter, CountsNodesTimesSeconds) {
  Meter meter({{}, 100.0}, {0, 20}, 0);
  EXPECT_TRUE(std::isinf(meter.SecondsLeft(0)));
  meter.AddNodes(2, 10);
  EXPECT_EQ(meter.SecondsLeft(10), 40);
  meter.AddNodes(2, 20);  // 20 + 20 used, 60 left on four nodes
  EXPECT_EQ(meter.SecondsLeft(20), 15);
  meter.AddNodes(-4, 30);
  EXPECT_EQ(meter.Used(50).node_seconds, 80);
  meter.AddNodes(1, 50);
  EXPECT_TRUE(meter.IsOver(70));
}

TEST(Meter, CountsWhatNobodyWatched) {
  Meter meter({{}, 100.0}, {7, 30}, 0);
  meter.AddNodes(2, 10);
  meter.Restart(40, 20);
  EXPECT_EQ(meter.Used(30).node_seconds, 40) << "nothing is in use any more";
  EXPECT_EQ(meter.Used(30).wall_seconds, 37);
  meter.AddNodes(2, 30);
  meter.Charge(2 * 15);  // in use since 15 seconds
  EXPECT_EQ(meter.SecondsLeft(30), 15);
}

TEST(Meter, AClockThatGoesBackGivesNothingBack) {
  Meter meter({100.0, 100.0}, {}, 50);
  meter.AddNodes(1, 50);
  EXPECT_EQ(meter.Used(10).wall_seconds, 0);
  EXPECT_EQ(meter.Used(10).node_seconds, 0);
  EXPECT_EQ(meter.Used(60).node_seconds, 10);
}

}  // namespace
}  // namespace slipway::ensemble
