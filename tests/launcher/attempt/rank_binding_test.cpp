#include "launcher/attempt/rank_binding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace slipway::launcher {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Key;
using testing::Pair;

const RankHost kOwn{0, "n1", {0, 1}, true, 2};
const RankHost kShared{1, "n2", {0, 1}, false, 2};
const RankHost kCrowded{2, "n3", {0, 1}, true, 4};

TEST(RankBinding, IsForJobsThatHaveTheirCoresForThemselves) {
  const auto binding = BindRanks(Bind::kAuto, true, {kOwn, kShared});
  EXPECT_THAT(binding.cores_of, ElementsAre(Pair(0, ElementsAre(0, 1))));
  EXPECT_THAT(binding.why_not, HasSubstr("other jobs may run on n2"));
}

TEST(RankBinding, IsNotForMoreRanksThanCoresAndSaysSo) {
  for (const auto asked : {Bind::kAuto, Bind::kCores}) {
    const auto binding = BindRanks(asked, true, {kOwn, kCrowded});
    EXPECT_THAT(binding.cores_of, ElementsAre(Key(0)));
    EXPECT_EQ(binding.why_not, "ranks are not bound to cores: 4 ranks share the 2 cores of n3");
  }
}

TEST(RankBinding, CountsTheNodesThatAreLeftOut) {
  EXPECT_THAT(BindRanks(Bind::kAuto, true, {kCrowded, kShared, kOwn}).why_not, HasSubstr("(and so on 2 of 3 nodes)"));
}

TEST(RankBinding, IsWhatTheUserSays) {
  EXPECT_THAT(BindRanks(Bind::kAuto, false, {kOwn}).cores_of, IsEmpty());
  EXPECT_THAT(BindRanks(Bind::kNone, true, {kOwn, kCrowded}).cores_of, IsEmpty());
  EXPECT_EQ(BindRanks(Bind::kNone, true, {kCrowded}).why_not, "");
  EXPECT_THAT(BindRanks(Bind::kCores, false, {kOwn, kShared}).cores_of, ElementsAre(Key(0), Key(1)));
}

}  // namespace
}  // namespace slipway::launcher
