#include "launcher/run/nodes_in_use.h"

#include <gtest/gtest.h>

namespace slipway::launcher {
namespace {

TEST(NodesToGoOnWith, AreAllThatLiveWithoutAGlobalBatch) {
  EXPECT_EQ(NodesToGoOnWith(3, 1, 2, 0), 3);
  EXPECT_EQ(NodesToGoOnWith(1, 1, 2, 0), 1);
}

TEST(NodesToGoOnWith, ShareTheGlobalBatchEqually) {
  EXPECT_EQ(NodesToGoOnWith(7, 1, 2, 64), 4);
  EXPECT_EQ(NodesToGoOnWith(3, 1, 2, 64), 2);
  EXPECT_EQ(NodesToGoOnWith(3, 1, 3, 64), std::nullopt);
}

TEST(NodesToGoOnWith, AreNeverFewerThanTheLeast) {
  EXPECT_EQ(NodesToGoOnWith(3, 4, 2, 0), std::nullopt);
  EXPECT_EQ(NodesToGoOnWith(3, 3, 2, 64), std::nullopt);
  EXPECT_EQ(NodesToGoOnWith(0, 0, 2, 0), std::nullopt);
}

}  // namespace
}  // namespace slipway::launcher
