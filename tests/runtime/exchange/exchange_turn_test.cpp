#include "runtime/exchange/exchange_turn.h"

#include <gtest/gtest.h>

#include <array>

namespace slipway::runtime {
namespace {

using enum ExchangeTurn;
using enum TurnEvent;

TEST(ExchangeTurn, TheCallerTakesOverAfterTheBucketOfTheThread) {
  auto turn = Next(kFree, kThreadBegins);
  EXPECT_EQ(turn, kThread);
  turn = Next(turn, kCallerTakes);
  EXPECT_EQ(turn, kThreadLast);
  EXPECT_TRUE(ThreadExchanges(turn));
  turn = Next(turn, kBucketDone);
  EXPECT_EQ(turn, kCaller);
  EXPECT_FALSE(ThreadExchanges(turn));
  EXPECT_EQ(Next(turn, kBucketDone), kCaller) << "the caller keeps its turn over many buckets";
  EXPECT_EQ(Next(turn, kCallerGivesBack), kFree);
}

TEST(ExchangeTurn, TheThreadGoesOnWhenTheCallerNeedsNoMore) {
  const auto turn = Next(Next(Next(kFree, kThreadBegins), kCallerTakes), kCallerGivesBack);
  EXPECT_EQ(turn, kThread);
  EXPECT_EQ(Next(turn, kBucketDone), kFree);
}

TEST(ExchangeTurn, TheThreadBeginsNothingInTheTurnOfTheCaller) {
  const auto turn = Next(kFree, kCallerTakes);
  EXPECT_EQ(turn, kCaller);
  EXPECT_EQ(Next(turn, kThreadBegins), kCaller);
}

/// Two threads in a collective at once would mix their messages.
TEST(ExchangeTurn, GoesFromTheThreadToTheCallerOnlyWhenABucketIsDone) {
  for (const auto turn : std::array{kThread, kThreadLast}) {
    for (const auto event : std::array{kThreadBegins, kCallerTakes, kCallerGivesBack}) {
      EXPECT_TRUE(ThreadExchanges(Next(turn, event)));
    }
  }
}

}  // namespace
}  // namespace slipway::runtime
