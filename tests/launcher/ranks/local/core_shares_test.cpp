#include "launcher/ranks/local/core_shares.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace slipway::launcher {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(CoreShares, AreEqualAndOfNeighbours) {
  EXPECT_THAT(ShareOut({0, 4, 1, 5}, 2), ElementsAre(ElementsAre(0, 4), ElementsAre(1, 5)));
  EXPECT_THAT(ShareOut({7, 8, 9, 10, 11}, 2), ElementsAre(ElementsAre(7, 8), ElementsAre(9, 10)));
  EXPECT_THAT(ShareOut({3}, 1), ElementsAre(ElementsAre(3)));
}

TEST(CoreShares, AreNoneWhereRanksAreMoreThanCores) {
  EXPECT_THAT(ShareOut({0, 1}, 3), IsEmpty());
  EXPECT_THAT(ShareOut({}, 1), IsEmpty());
  EXPECT_THAT(ShareOut({0}, 0), IsEmpty());
}

TEST(CoreShares, AreWrittenAsRanges) {
  EXPECT_EQ(CoreList({8, 0, 2, 1, 3}), "0-3,8");
  EXPECT_EQ(CoreList({0, 32, 1, 33}), "0-1,32-33");
  EXPECT_EQ(CoreList({}), "");
}

TEST(CoreShares, GoToTheRanksOfANodeByTheirNumbers) {
  const std::vector<PlacedRank> ranks{{3, 1}, {0, 0}, {2, 1}, {1, 0}};
  EXPECT_THAT(CoreListsOf(ranks, {{0, {0, 1}}, {1, {4, 5, 6, 7}}}), ElementsAre("6-7", "0", "4-5", "1"));
}

TEST(CoreShares, LeaveRanksOfOtherNodesUnbound) {
  EXPECT_THAT(CoreListsOf({{0, 0}, {1, 1}}, {{1, {2}}}), ElementsAre("", "2"));
}

}  // namespace
}  // namespace slipway::launcher
