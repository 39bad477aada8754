#include "runtime/selection/timing_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

namespace slipway::runtime {
namespace {

constexpr std::int64_t kKiB = 1024;
constexpr std::int64_t kSmallest = 4 * kKiB;
constexpr std::int64_t kLargest = 16 * kKiB * kKiB;
constexpr double kBudget = 0.3;  ///< seconds

using Sizes = std::vector<std::int64_t>;

/// What a plan comes to.
struct Timed {
  Sizes sizes;
  std::vector<int> rounds;  ///< of each message and way
  double seconds = 0;
};

/// Each way takes `seconds_of(bytes)`.
template <class SecondsOf>
Timed CarryOut(int ways, SecondsOf seconds_of) {
  TimingPlan plan(SizesFromBothEnds(kSmallest, kLargest, 4), ways, kBudget);
  Timed timed;
  while (const auto bytes = plan.NextSize()) {
    timed.sizes.push_back(*bytes);
    for (int way = 0; way < ways; ++way) {
      const double seconds = seconds_of(*bytes);
      const int rounds = plan.RoundsOf(seconds);
      plan.Spend(seconds, 1 + rounds);
      timed.rounds.push_back(rounds);
      timed.seconds += (1 + rounds) * seconds;
    }
  }
  return timed;
}

TEST(TimingPlan, BeginsAtBothEndsAndHalvesTheWidestGap) {
  EXPECT_EQ(SizesFromBothEnds(kSmallest, kLargest, 4),
            (Sizes{4 * kKiB, 16384 * kKiB, 256 * kKiB, 16 * kKiB, 1024 * kKiB, 64 * kKiB, 4096 * kKiB}));
  EXPECT_EQ(SizesFromBothEnds(1, 10, 4), (Sizes{1, 10, 4}));
  EXPECT_EQ(SizesFromBothEnds(1, 4, 4), (Sizes{1, 4}));
  EXPECT_EQ(SizesFromBothEnds(7, 7, 4), Sizes{7});
}

TEST(TimingPlan, TimesShortMessagesOften) {
  const auto timed = CarryOut(2, [](std::int64_t) { return 1e-3; });
  EXPECT_EQ(timed.sizes.size(), 7u);
  EXPECT_TRUE(std::ranges::all_of(timed.rounds, [](int rounds) { return rounds == TimingPlan::kMostRounds; }));
}

/// All latency: a plan that reckons with four times as long for the next size would leave out the large ones.
TEST(TimingPlan, HasAllSizesWhereEachTakesAsLong) {
  const auto timed = CarryOut(2, [](std::int64_t) { return 9e-3; });
  EXPECT_EQ(std::set(timed.sizes.begin(), timed.sizes.end()).size(), 7u);
  EXPECT_EQ(std::ranges::min(timed.rounds), 1);
  EXPECT_LE(timed.seconds, kBudget);
}

TEST(TimingPlan, HasAllSizesOfALinkThatIsSlow) {
  const auto timed = CarryOut(3, [](std::int64_t bytes) { return 20e-6 + static_cast<double>(bytes) / 2e9; });
  EXPECT_EQ(timed.sizes.size(), 7u);
  EXPECT_LE(timed.seconds, kBudget);
}

TEST(TimingPlan, HasBothEndsHoweverLongTheyTake) {
  const auto timed = CarryOut(2, [](std::int64_t) { return 1.0; });
  EXPECT_EQ(timed.sizes, (Sizes{kSmallest, kLargest}));
  EXPECT_EQ(timed.rounds, (std::vector{1, 1, 1, 1}));
}

/// Where the time is spent after some sizes, the gaps between them are even.
TEST(TimingPlan, LeavesOutSizesBetweenOthers) {
  const auto timed = CarryOut(2, [](std::int64_t) { return 30e-3; });
  EXPECT_EQ(timed.sizes, (Sizes{kSmallest, kLargest, 256 * kKiB}));
}

}  // namespace
}  // namespace slipway::runtime
