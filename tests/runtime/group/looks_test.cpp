#include <gtest/gtest.h>

#include "runtime/group/waiter.h"

namespace slipway::runtime {
namespace {

TEST(Looks, BecomeFewWhereLookingIsInVain) {
  Looks looks(4000);
  looks.InVain();
  EXPECT_EQ(looks.now(), 2000);
  for (int i = 0; i < 20; ++i) looks.InVain();
  EXPECT_EQ(looks.now(), Looks::kLeast);
}

TEST(Looks, BecomeManyAgainWhereLookingHelps) {
  Looks looks(4000);
  for (int i = 0; i < 20; ++i) looks.InVain();
  for (int i = 0; i < 20; ++i) looks.Found(3);
  EXPECT_EQ(looks.now(), 4000);
}

TEST(Looks, StayWhereNothingHadToBeWaitedFor) {
  Looks looks(4000);
  looks.InVain();
  for (int i = 0; i < 20; ++i) looks.Found(0);
  EXPECT_EQ(looks.now(), 2000);
}

TEST(Looks, StayFewWhereRanksShareCores) {
  Looks looks(Looks::kLeast);
  looks.Found(2);
  EXPECT_EQ(looks.now(), Looks::kLeast);
  looks.InVain();
  EXPECT_EQ(looks.now(), Looks::kLeast);
}

}  // namespace
}  // namespace slipway::runtime
