// What the ranks of all nodes read together, when each node holds its own records.
#include <gmock/gmock.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "core/error.h"
#include "staging/reader/batch_plan.h"
#include "tests/staging/formats_support.h"
#include "tests/support/fake_memory.h"

namespace slipway::staging {
namespace {

using ::testing::HasSubstr;

TEST(BatchPlan, RefusesAnOrderBeyondTheMemoryThatIsLeft) {
  const test::FakeMemory machine(100 * 1024);
  const std::uint64_t fits = 5'000'000;  // 80 MB; 94 MB may be taken
  EXPECT_GT(BatchPlan({}, {fits}, machine.sources()).steps_per_epoch(), 0u);
  try {
    BatchPlan({}, {fits, 7'000'000}, machine.sources());
    FAIL() << "112 MB were taken";
  } catch (const MemoryError& error) {
    EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("the files promise 7000000 records"), HasSubstr("112 MB"),
                                             HasSubstr("slipway data info")));
  }
  for (const int bits : {60, 63}) EXPECT_THROW(BatchPlan({}, {1ULL << bits}, machine.sources()), MemoryError);
}

/// A job over some nodes, as every one of its ranks plans it.
struct JobOfNodes {
  BatchOptions options;

  static JobOfNodes Any() {
    JobOfNodes job;
    job.options.shares.emplace();
    const auto nodes = *rc::gen::inRange(1, 6);
    for (int i = 0; i < nodes; ++i) {
      job.options.shares->nodes.push_back({*rc::gen::inRange<std::uint64_t>(20, 60), *rc::gen::inRange(1, 4)});
    }
    job.options.batch = *rc::gen::inRange<std::uint64_t>(1, 5);
    job.options.seed = *rc::gen::arbitrary<std::uint64_t>();
    job.options.remainder = *rc::gen::element(Remainder::kDrop, Remainder::kPad);
    if (*rc::gen::arbitrary<bool>()) job.options.split = SplitPart{0.2, 7, false};
    return job;
  }

  std::uint64_t ranks() const {
    std::uint64_t ranks = 0;
    for (const auto& node : options.shares->nodes) ranks += static_cast<std::uint64_t>(node.ranks);
    return ranks;
  }

  /// Calls `visit` with the plan of every rank, and the number of the first record on its node.
  template <class Visit>
  void ForEachRank(Visit visit) const {
    auto mine = options;
    for (auto& node = mine.shares->node = 0; node < mine.shares->nodes.size(); ++node) {
      const auto records = mine.shares->nodes[node].records;
      for (mine.rank = 0; mine.rank < mine.shares->nodes[node].ranks; ++mine.rank) {
        visit(BatchPlan(mine, {records}), FirstRecordOf(mine.shares));
      }
    }
  }

  /// What all read from a position on, numbered over all nodes, without padding.
  std::multiset<std::uint64_t> ReadFrom(const EpochPosition& position) const {
    std::multiset<std::uint64_t> read;
    ForEachRank([&](const BatchPlan& plan, std::uint64_t first) {
      for (const auto record : plan.PartFrom(position).places) {
        if (record != kPaddingRecord) read.insert(first + record);
      }
    });
    return read;
  }
};

bool HasNoneTwice(const std::multiset<std::uint64_t>& numbers) {
  return std::ranges::adjacent_find(numbers) == numbers.end();
}

RC_GTEST_PROP(NodeShares, EveryRecordIsReadOnceUpToTheRest, ()) {
  const auto job = JobOfNodes::Any();
  std::uint64_t steps = 0;
  std::uint64_t count = 0;
  job.ForEachRank([&](const BatchPlan& plan, std::uint64_t) {
    if (steps == 0) steps = plan.steps_per_epoch();
    count = plan.record_count();
    RC_ASSERT(plan.steps_per_epoch() == steps);
    RC_ASSERT(plan.PartFrom({3, 0}).steps == steps);
  });
  const auto read = job.ReadFrom({3, 0});
  RC_ASSERT(HasNoneTwice(read));
  if (job.options.remainder == Remainder::kPad) RC_ASSERT(read.size() == count);
  if (job.options.remainder == Remainder::kDrop) RC_ASSERT(read.size() == steps * job.options.batch * job.ranks());
}

RC_GTEST_PROP(NodeShares, WhatIsLeftOutChangesFromEpochToEpoch, ()) {
  auto job = JobOfNodes::Any();
  job.options.remainder = Remainder::kDrop;
  job.options.split.reset();
  std::set<std::uint64_t> read;
  std::uint64_t count = 0;
  for (std::uint64_t epoch = 0; epoch < 300; ++epoch) {
    for (const auto record : job.ReadFrom({epoch, 0})) read.insert(record);
  }
  for (const auto& node : job.options.shares->nodes) count += node.records;
  RC_ASSERT(read.size() == count);
}

RC_GTEST_PROP(NodeShares, AnEpochThatIsInterruptedReadsTheRest, ()) {
  const auto job = JobOfNodes::Any();
  auto all = job.ReadFrom({1, 0});
  EpochPosition position;
  const auto share = *rc::gen::inRange(0, 101);
  job.ForEachRank([&](const BatchPlan& plan, std::uint64_t) {
    const auto part = plan.PartFrom({1, 0});
    position = plan.After(part, part.steps * static_cast<std::uint64_t>(share) / 100);
  });
  const auto rest = job.ReadFrom(position);
  for (const auto record : rest) {
    const auto found = all.find(record);
    RC_ASSERT(found != all.end());
    all.erase(found);
  }
  if (job.options.remainder == Remainder::kDrop) RC_ASSERT(all.size() == position.records_done);
}

RC_GTEST_PROP(NodeShares, PlacesInTheOrderOfAllAreDisjointAndComplete, ()) {
  auto job = JobOfNodes::Any();
  job.options.order = RecordOrder::kInOrder;
  job.options.remainder = Remainder::kPad;
  std::set<std::uint64_t> rows;
  std::uint64_t count = 0;
  job.ForEachRank([&](const BatchPlan& plan, std::uint64_t) {
    const auto part = plan.PartFrom({0, 0});
    count = plan.record_count();
    for (std::uint64_t i = 0; i < part.places.size(); ++i) {
      if (part.places[i] != kPaddingRecord) RC_ASSERT(rows.insert(plan.places_of_rank().At(i)).second);
    }
  });
  RC_ASSERT(rows.size() == count);
  RC_ASSERT(*rows.rbegin() + 1 == count);
}

TEST(NodeShares, OfOtherNodesHaveAnotherKey) {
  const std::vector<NodeRecords> four(4, {100, 2}), two(2, {200, 4}), other = {{100, 2}, {100, 2}, {100, 2}, {101, 2}};
  EXPECT_NE(SharesKey(four), SharesKey(two));
  EXPECT_NE(SharesKey(four), SharesKey(other));
  EXPECT_EQ(SharesKey(four), SharesKey(std::vector<NodeRecords>(4, {100, 2})));
}

TEST(NodeShares, TooSmallForABatchNameTheFewestRecords) {
  BatchOptions options;
  options.shares = NodeShares{{{50, 2}, {7, 2}}, 0};
  options.batch = 4;
  EXPECT_THAT(ErrorOf([&] { BatchPlan(options, {50}); }).message(),
              HasSubstr("7 records on a node are fewer than one batch of 4 on 2 ranks"));
}

TEST(NodeShares, ASplitTakesItsFractionOfEveryNode) {
  BatchOptions options;
  options.shares = NodeShares{{{100, 1}, {50, 1}}, 1};
  options.split = SplitPart{0.1, 3, true};
  EXPECT_EQ(BatchPlan(options, {50}).record_count(), 15u);
  options.split->validation = false;
  EXPECT_EQ(BatchPlan(options, {50}).record_count(), 135u);
}

}  // namespace
}  // namespace slipway::staging
