#include "staging/reader/sharding.h"

#include <gmock/gmock.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include "core/error.h"

namespace slipway::staging {
namespace {

using ::testing::ElementsAre;

RecordNumbers FirstNumbers(std::uint64_t count) {
  RecordNumbers numbers(count);
  std::iota(numbers.begin(), numbers.end(), std::uint64_t{0});
  return numbers;
}

RecordNumbers Sorted(RecordNumbers numbers) {
  std::ranges::sort(numbers);
  return numbers;
}

RC_GTEST_PROP(Sharding, TheSplitLosesAndDoublesNoRecord, (std::uint64_t seed)) {
  const auto count = *rc::gen::inRange<std::uint64_t>(0, 500);
  const auto fraction = *rc::gen::inRange(0, 100) / 100.0;
  auto split = Split(count, fraction, seed);
  RC_ASSERT(std::ranges::is_sorted(split.train));
  RC_ASSERT(std::ranges::is_sorted(split.validation));
  const auto expected = fraction * static_cast<double>(count);
  RC_ASSERT(std::abs(static_cast<double>(split.validation.size()) - expected) <= 1);
  auto all = split.train;
  all.insert(all.end(), split.validation.begin(), split.validation.end());
  RC_ASSERT(Sorted(all) == FirstNumbers(count));
}

RC_GTEST_PROP(Sharding, AnEpochIsAPermutation, (std::uint64_t seed, std::uint64_t epoch)) {
  const auto records = Split(*rc::gen::inRange<std::uint64_t>(0, 300), 0.2, 1).train;
  RC_ASSERT(Sorted(EpochOrder(records, seed, epoch)) == records);
}

RC_GTEST_PROP(Sharding, EveryRankHasTheSameNumberOfDifferentRecords, (std::uint64_t seed)) {
  const auto order = EpochOrder(FirstNumbers(*rc::gen::inRange<std::uint64_t>(0, 300)), seed, 0);
  const auto world = *rc::gen::inRange(1, 20);
  std::set<std::uint64_t> seen;
  for (int rank = 0; rank < world; ++rank) {
    const auto shard = ShardOf(order, {rank, world, 1, Remainder::kDrop});
    RC_ASSERT(shard.size() == order.size() / static_cast<std::size_t>(world));
    seen.insert(shard.begin(), shard.end());
  }
  RC_ASSERT(seen.size() == order.size() / static_cast<std::size_t>(world) * static_cast<std::size_t>(world));
}

RC_GTEST_PROP(Sharding, AGlobalBatchIsTheSameForEveryWorldSize, (std::uint64_t seed)) {
  const auto world = *rc::gen::inRange(1, 9);
  const auto per_rank = *rc::gen::inRange<std::size_t>(1, 9);
  const auto global = per_rank * static_cast<std::size_t>(world);
  const auto steps = *rc::gen::inRange<std::size_t>(1, 5);
  const auto order = EpochOrder(FirstNumbers(global * steps), seed, 3);
  for (std::size_t step = 0; step < steps; ++step) {
    RecordNumbers batch;
    for (int rank = 0; rank < world; ++rank) {
      const auto shard = ShardOf(order, {rank, world, 1, Remainder::kDrop});
      const auto mine = std::span(shard).subspan(step * per_rank, per_rank);
      batch.insert(batch.end(), mine.begin(), mine.end());
    }
    const auto expected = std::span(order).subspan(step * global, global);
    RC_ASSERT(Sorted(batch) == Sorted({expected.begin(), expected.end()}));
  }
}

TEST(Sharding, SeedsAndEpochsGiveDifferentOrders) {
  const auto records = FirstNumbers(100);
  std::set<RecordNumbers> orders;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    for (std::uint64_t epoch = 0; epoch < 5; ++epoch) orders.insert(EpochOrder(records, seed, epoch));
  }
  EXPECT_EQ(orders.size(), 25u);
  EXPECT_NE(Split(100, 0.5, 1).train, Split(100, 0.5, 2).train);
}

TEST(Sharding, TheOrderIsFixedForAllTime) {
  // Checkpoints and published results depend on these numbers: a change of them is a breaking change.
  EXPECT_THAT(EpochOrder(FirstNumbers(8), 1, 0), ElementsAre(4, 7, 6, 5, 1, 3, 0, 2));
  EXPECT_THAT(Split(20, 0.2, 1).validation, ElementsAre(4, 14, 17, 18));
}

TEST(Sharding, EveryPlaceIsAboutEquallyLikely) {
  // 6000 shuffles of 6: each number stands first about 1000 times (standard deviation 29).
  std::vector<int> first(6, 0);
  for (std::uint64_t epoch = 0; epoch < 6000; ++epoch) ++first[EpochOrder(FirstNumbers(6), 7, epoch)[0]];
  for (const int count : first) EXPECT_NEAR(count, 1000, 150);
}

TEST(Sharding, ASmallFractionStillGivesValidationRecords) {
  EXPECT_EQ(Split(3, 0.01, 1).validation.size(), 1u);
  EXPECT_EQ(Split(3, 0.99, 1).train.size(), 1u);
  EXPECT_EQ(Split(1, 0.5, 1).train.size(), 1u);
  EXPECT_TRUE(Split(100, 0, 1).validation.empty());
}

TEST(Sharding, RefusesFractionsAndRanksOutOfRange) {
  for (const double fraction : {-0.1, 1.0, 2.0, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW(Split(10, fraction, 1), Error);
  }
  const auto order = FirstNumbers(4);
  EXPECT_THROW(ShardOf(order, {2, 2, 1, Remainder::kDrop}), Error);
  EXPECT_THROW(ShardOf(order, {-1, 2, 1, Remainder::kDrop}), Error);
  EXPECT_THROW(ShardOf(order, {0, 0, 1, Remainder::kDrop}), Error);
}

}  // namespace
}  // namespace slipway::staging
