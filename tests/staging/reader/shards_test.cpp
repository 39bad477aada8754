// How orders are dealt out to ranks: remainders, positions, restarts with other worlds, windows, nodes.
#include <gmock/gmock.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "core/error.h"
#include "staging/reader/sharding.h"

namespace slipway::staging {
namespace {

using ::testing::ElementsAre;

RecordNumbers FirstShardNumbers(std::uint64_t count) {
  RecordNumbers numbers(count);
  std::iota(numbers.begin(), numbers.end(), std::uint64_t{0});
  return numbers;
}

RecordNumbers SortedNumbers(RecordNumbers numbers) {
  std::ranges::sort(numbers);
  return numbers;
}

Remainder AnyRemainder() { return *rc::gen::element(Remainder::kDrop, Remainder::kRepeat, Remainder::kPad); }

/// What all ranks read together in `steps` steps from `done` on, without padding.
RecordNumbers ReadByAll(const RecordNumbers& order, ShardRule rule, std::uint64_t done, std::uint64_t steps) {
  RecordNumbers read;
  for (rule.rank = 0; rule.rank < rule.world; ++rule.rank) {
    const auto shard = ShardOf(order, rule, done);
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(shard.size(), steps * rule.batch); ++i) {
      if (shard[i] != kPaddingRecord) read.push_back(shard[i]);
    }
  }
  return read;
}

RC_GTEST_PROP(Shards, EveryRankHasWholeStepsAndTheSameNumberOfThem, (std::uint64_t seed)) {
  const auto order = EpochOrder(FirstShardNumbers(*rc::gen::inRange<std::uint64_t>(0, 200)), seed, 0);
  ShardRule rule{0, *rc::gen::inRange(1, 9), *rc::gen::inRange<std::uint64_t>(1, 9), AnyRemainder()};
  const auto done = *rc::gen::inRange<std::uint64_t>(0, 220);
  const auto left = order.size() - std::min<std::uint64_t>(done, order.size());
  for (rule.rank = 0; rule.rank < rule.world; ++rule.rank) {
    RC_ASSERT(ShardOf(order, rule, done).size() == StepsOf(left, rule) * rule.batch);
  }
}

RC_GTEST_PROP(Shards, NothingIsLostOrDoubledButWhatTheRemainderSays, (std::uint64_t seed)) {
  const auto order = EpochOrder(FirstShardNumbers(*rc::gen::inRange<std::uint64_t>(1, 200)), seed, 0);
  const ShardRule rule{0, *rc::gen::inRange(1, 9), *rc::gen::inRange<std::uint64_t>(1, 9), AnyRemainder()};
  const auto read = ReadByAll(order, rule, 0, StepsOf(order.size(), rule));
  const auto step = rule.batch * static_cast<std::uint64_t>(rule.world);
  switch (rule.remainder) {
    case Remainder::kDrop: {
      RC_ASSERT(read.size() == order.size() / step * step);
      RC_ASSERT(SortedNumbers(read) ==
                SortedNumbers({order.begin(), order.begin() + static_cast<std::ptrdiff_t>(read.size())}));
      break;
    }
    case Remainder::kPad: RC_ASSERT(SortedNumbers(read) == FirstShardNumbers(order.size())); break;
    case Remainder::kRepeat: {
      auto expected = order;
      for (std::size_t i = 0; expected.size() % step != 0; ++i) expected.push_back(order[i % order.size()]);
      RC_ASSERT(SortedNumbers(read) == SortedNumbers(expected));
    }
  }
}

RC_GTEST_PROP(Shards, ARestartWithAnotherWorldReadsWhatIsLeft, (std::uint64_t seed)) {
  const auto order = EpochOrder(FirstShardNumbers(*rc::gen::inRange<std::uint64_t>(1, 300)), seed, 5);
  RecordNumbers read;
  std::uint64_t done = 0;
  // The last run ends the epoch; all before it stop somewhere.
  for (int runs = *rc::gen::inRange(0, 4); runs >= 0; --runs) {
    const ShardRule rule{0, *rc::gen::inRange(1, 9), *rc::gen::inRange<std::uint64_t>(1, 9), Remainder::kPad};
    const auto all = StepsOf(order.size() - done, rule);
    const auto steps = runs == 0 ? all : *rc::gen::inRange<std::uint64_t>(0, all + 1);
    const auto now = ReadByAll(order, rule, done, steps);
    read.insert(read.end(), now.begin(), now.end());
    done = RecordsDoneAfter(steps, order.size(), rule, done);
    RC_ASSERT(read.size() == done);
  }
  RC_ASSERT(SortedNumbers(read) == FirstShardNumbers(order.size()));
}

TEST(Shards, RemaindersAreDroppedRepeatedOrPadded) {
  const RecordNumbers order = {5, 6, 7, 8, 9};
  EXPECT_THAT(ShardOf(order, {1, 2, 2, Remainder::kDrop}), ElementsAre(6, 8));
  EXPECT_THAT(ShardOf(order, {1, 2, 2, Remainder::kRepeat}), ElementsAre(6, 8, 5, 7));
  EXPECT_THAT(ShardOf(order, {0, 2, 2, Remainder::kPad}), ElementsAre(5, 7, 9, kPaddingRecord));
  EXPECT_THAT(ShardOf(order, {0, 3, 4, Remainder::kRepeat}), ElementsAre(5, 8, 6, 9));
  EXPECT_EQ(FromWord<Remainder>("repeat"), Remainder::kRepeat);
  EXPECT_EQ(FromWord<Remainder>("Repeat"), std::nullopt);
  EXPECT_EQ(WordOf(Remainder::kPad), "pad");
}

RC_GTEST_PROP(Shards, NodesWithDifferentCountsMakeEqualSteps, ()) {
  const auto nodes = *rc::gen::nonEmpty(rc::gen::container<std::vector<NodeRecords>>(
      rc::gen::map(rc::gen::pair(rc::gen::inRange<std::uint64_t>(1, 60), rc::gen::inRange(1, 5)), [](const auto& pair) {
        return NodeRecords{pair.first, pair.second};
      })));
  const auto batch = *rc::gen::inRange<std::uint64_t>(1, 5);
  const auto remainder = AnyRemainder();
  const auto steps = StepsOfNodes(nodes, batch, remainder);
  for (const auto& node : nodes) {
    std::map<std::uint64_t, int> times;
    const auto order = EpochOrder(FirstShardNumbers(node.records), 3, 1);
    for (int rank = 0; rank < node.ranks; ++rank) {
      const auto shard = ShardOfNode(order, {rank, node.ranks, batch, remainder}, steps);
      RC_ASSERT(shard.size() == steps * batch);
      for (const auto record : shard) ++times[record];
      const auto rest = ShardOfNode(order, {rank, node.ranks, batch, remainder}, steps, steps / 2);
      RC_ASSERT(std::ranges::equal(rest, std::span(shard).last(rest.size())));
    }
    times.erase(kPaddingRecord);
    // Dropped: some never. Else: all, and with padding once.
    if (remainder != Remainder::kDrop) RC_ASSERT(times.size() == node.records);
    for (const auto& [record, count] : times) RC_ASSERT(remainder == Remainder::kRepeat || count == 1);
  }
}

TEST(Shards, ANodeWithNothingToRepeatIsRefused) {
  const std::vector<NodeRecords> nodes = {{10, 2}, {0, 2}};
  EXPECT_THROW(StepsOfNodes(nodes, 1, Remainder::kRepeat), Error);
  EXPECT_EQ(StepsOfNodes(nodes, 1, Remainder::kPad), 5u);
  EXPECT_EQ(StepsOfNodes(nodes, 1, Remainder::kDrop), 0u);
  EXPECT_THROW(StepsOfNodes({}, 1, Remainder::kDrop), Error);
}

struct Files {
  RecordNumbers records;
  std::vector<std::uint64_t> ends;
};

Files AnyFiles() {
  Files files;
  std::uint64_t count = 0;
  for (const auto size : *rc::gen::container<std::vector<std::uint64_t>>(rc::gen::inRange<std::uint64_t>(0, 20))) {
    files.ends.push_back(count += size);
  }
  files.records = FirstShardNumbers(count);
  return files;
}

RC_GTEST_PROP(Window, AWindowedOrderIsAPermutation, (std::uint64_t seed, std::uint64_t epoch)) {
  const auto files = AnyFiles();
  const auto window = *rc::gen::inRange<std::size_t>(1, 40);
  RC_ASSERT(SortedNumbers(WindowedOrder(files.records, files.ends, window, seed, epoch)) == files.records);
}

RC_GTEST_PROP(Window, WhatComesOutDependsOnlyOnWhatWentInAWindowBefore, (std::uint64_t seed)) {
  const auto files = AnyFiles();
  const auto window = *rc::gen::inRange<std::size_t>(1, 20);
  RecordNumbers stream;
  for (const auto file : FileOrder(files.ends.size(), seed, 0)) {
    for (auto record = file == 0 ? 0 : files.ends[file - 1]; record < files.ends[file]; ++record) {
      stream.push_back(record);
    }
  }
  const auto order = WindowedOrder(files.records, files.ends, window, seed, 0);
  // Without the end of the stream the places that did not need it are the same.
  const auto kept = *rc::gen::inRange<std::size_t>(0, stream.size() + 1);
  const auto of_kept = WindowedOrder(
      SortedNumbers({stream.begin(), stream.begin() + static_cast<std::ptrdiff_t>(kept)}), files.ends, window, seed, 0);
  const auto same = kept < window ? 0 : kept - window + 1;
  RC_ASSERT(std::ranges::equal(std::span(order).first(same), std::span(of_kept).first(same)));
}

TEST(Window, TheOrderIsFixedForAllTime) {
  // Checkpoints depend on these numbers, as on those of EpochOrder.
  EXPECT_THAT(FileOrder(5, 1, 0), ElementsAre(1, 0, 2, 4, 3));
  EXPECT_THAT(WindowedOrder(FirstShardNumbers(8), std::vector<std::uint64_t>{4, 8}, 3, 1, 0),
              ElementsAre(5, 6, 4, 7, 0, 1, 2, 3));
}

TEST(Window, AWindowOfOneKeepsTheFilesAndTheirOrder) {
  const auto order = WindowedOrder(RecordNumbers{0, 2, 3, 5}, std::vector<std::uint64_t>{3, 6}, 1, 7, 0);
  EXPECT_TRUE(order == (RecordNumbers{0, 2, 3, 5}) || order == (RecordNumbers{3, 5, 0, 2}));
  EXPECT_THROW(WindowedOrder(RecordNumbers{0}, std::vector<std::uint64_t>{1}, 0, 1, 1), Error);
}

TEST(Window, EveryPlaceIsAboutEquallyLikelyWithinTheWindow) {
  std::vector<int> first(6, 0);
  for (std::uint64_t epoch = 0; epoch < 6000; ++epoch) {
    ++first[WindowedOrder(FirstShardNumbers(6), std::vector<std::uint64_t>{6}, 6, 7, epoch)[0]];
  }
  for (const int count : first) EXPECT_NEAR(count, 1000, 150);
}

}  // namespace
}  // namespace slipway::staging
