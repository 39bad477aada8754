#include "staging/stream/next_action.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "staging/reader/sharding.h"

namespace slipway::staging {
namespace {

using Sizes = std::vector<Bytes>;

/// A tier and its readers, without files.
class World {
 public:
  World(Sizes sizes, Bytes capacity, std::uint64_t ahead, std::uint64_t seed, std::vector<StreamReader> begin)
      : readers(std::move(begin)),
        present(sizes.size()),
        sizes_(std::move(sizes)),
        capacity_(capacity),
        ahead_(ahead),
        uses(sizes_.size(), [count = sizes_.size(), seed](auto epoch) { return FileOrder(count, seed, epoch); }) {}

  /// One action. False: it waits.
  bool Act(bool stalled = false) {
    const auto action = NextAction({sizes_, readers, present, capacity_, ahead_, stalled}, uses);
    if (const auto* copy = std::get_if<CopyFile>(&action)) {
      EXPECT_FALSE(present[copy->file]);
      present[copy->file] = true;
      ++copies;
    } else if (const auto* evict = std::get_if<EvictFile>(&action)) {
      CheckEviction(evict->file, stalled);
      present[evict->file] = false;
    } else {
      return false;
    }
    EXPECT_LE(Taken(), capacity_.count);
    return true;
  }
  void Settle() {
    while (Act()) {
    }
  }

  /// What a stream does that has seen nothing move for a while.
  void EndStall() {
    const auto before = copies;
    has_stalled_ = true;
    while (copies == before && Act(true)) {
    }
  }

  bool CanMove(std::size_t reader) { return present[uses.FileOf(readers[reader].at)]; }
  std::uint64_t Taken() const {
    std::uint64_t taken = 0;
    for (std::size_t file = 0; file < sizes_.size(); ++file) taken += present[file] ? sizes_[file].count : 0;
    return taken;
  }

  std::vector<StreamReader> readers;
  std::vector<bool> present;
  std::uint64_t copies = 0;

 private:
  /// Nobody works with it; without a stall nobody needs it before the file that room is made for, and as long as there
  /// was none, nobody between the slowest and the fastest.
  void CheckEviction(std::size_t file, bool stalled) {
    EXPECT_TRUE(present[file]);
    for (const auto& reader : readers) EXPECT_FALSE(reader.wants && uses.FileOf(*reader.wants) == file);
    const auto [slowest, fastest] = std::ranges::minmax(readers, {}, &StreamReader::at);
    auto missing = slowest.at;
    while (present[uses.FileOf(missing)]) ++missing;
    EXPECT_TRUE(stalled || uses.NextUse(file, slowest.at) > missing) << "file " << file;
    EXPECT_TRUE(has_stalled_ || uses.NextUse(file, slowest.at) > fastest.at) << "file " << file;
  }

  Sizes sizes_;
  Bytes capacity_;
  std::uint64_t ahead_;
  bool has_stalled_ = false;

 public:
  Uses uses;
};

Bytes TwoLargest(Sizes sizes) {
  std::ranges::sort(sizes, std::greater());
  return Bytes{sizes[0].count + (sizes.size() > 1 ? sizes[1].count : 0)};
}

Sizes SomeSizes(std::size_t files) {
  Sizes sizes;
  for (std::size_t i = 0; i < files; ++i) sizes.push_back(Bytes{*rc::gen::inRange<std::uint64_t>(0, 100)});
  return sizes;
}

RC_GTEST_PROP(NextAction, LetsReadersOfAnySpeedGetOnWithRoomForTheTwoLargestFiles, ()) {
  const auto sizes = SomeSizes(*rc::gen::inRange<std::size_t>(1, 9));
  const Bytes capacity{TwoLargest(sizes).count + *rc::gen::inRange<std::uint64_t>(0, 200)};
  const auto readers = *rc::gen::inRange<std::size_t>(1, 5);
  World world(sizes, capacity, *rc::gen::inRange<std::uint64_t>(0, 4), *rc::gen::arbitrary<std::uint64_t>(),
              std::vector<StreamReader>(readers, {*rc::gen::inRange<std::uint64_t>(0, 20)}));
  const auto speeds = *rc::gen::container<std::vector<int>>(400, rc::gen::inRange(0, 20));
  for (const int choice : speeds) {
    if (choice % 3 == 0) world.Act();
    const auto reader = static_cast<std::size_t>(choice) % readers;
    if (world.CanMove(reader)) ++world.readers[reader].at;
    world.Settle();
    bool somebody_moves = false;
    for (std::size_t i = 0; i < readers; ++i) somebody_moves = somebody_moves || world.CanMove(i);
    RC_ASSERT(somebody_moves);
  }
}

RC_GTEST_PROP(NextAction, BringsBackWhatAReaderNeedsThatBeginsAgain, ()) {
  const auto sizes = SomeSizes(*rc::gen::inRange<std::size_t>(2, 9));
  World world(sizes, TwoLargest(sizes), 1, *rc::gen::arbitrary<std::uint64_t>(), {{0}});
  for (int step = 0; step < 60; ++step) {
    world.Settle();
    RC_ASSERT(world.CanMove(0));
    auto& at = world.readers[0].at;
    ++at;
    if (step % 20 == 19) at -= *rc::gen::inRange<std::uint64_t>(0, at + 1);
  }
}

/// Works with files until it has passed all before `target`. False: it waits for one.
bool Advance(World& world, std::size_t reader, std::uint64_t target) {
  auto& state = world.readers[reader];
  while (state.at < target) {
    state.wants = state.at;
    if (!world.CanMove(reader)) return false;
    world.Settle();  // it works with it meanwhile
    RC_ASSERT(world.CanMove(reader));
    state = {state.at + 1};
  }
  return true;
}

/// Every rank needs another number of files for the next step, and nobody begins one that not all have finished.
RC_GTEST_PROP(NextAction, LetsRanksInLockStepGetOnWithRoomForTheTwoLargestFiles, ()) {
  const auto sizes = SomeSizes(*rc::gen::inRange<std::size_t>(1, 9));
  const Bytes capacity{TwoLargest(sizes).count + *rc::gen::inRange<std::uint64_t>(0, 100)};
  const auto ranks = *rc::gen::inRange<std::size_t>(1, 6);
  World world(sizes, capacity, *rc::gen::inRange<std::uint64_t>(0, 4), *rc::gen::arbitrary<std::uint64_t>(),
              std::vector<StreamReader>(ranks));
  const auto needs = *rc::gen::container<std::vector<std::uint64_t>>(20 * ranks, rc::gen::inRange<std::uint64_t>(0, 7));
  std::vector<std::uint64_t> targets(ranks);
  for (std::size_t step = 0; step < needs.size(); step += ranks) {
    for (std::size_t rank = 0; rank < ranks; ++rank) targets[rank] += needs[step + rank];
    for (int round = 0, waiting = 1; waiting > 0; ++round) {
      RC_ASSERT(round < 1000);
      const auto copies = world.copies;
      waiting = 0;
      for (std::size_t rank = 0; rank < ranks; ++rank) waiting += Advance(world, rank, targets[rank]) ? 0 : 1;
      world.Settle();
      if (waiting > 0 && world.copies == copies) {
        world.EndStall();
        RC_ASSERT(world.copies > copies);
      }
    }
  }
}

/// The fewest copies with which one reader gets through `steps` uses when room is for `room` files of one size and, at
/// each use, the files of the next `ahead` uses must be there as well. Tries everything.
std::uint64_t FewestCopies(Uses& uses, std::uint64_t steps, int room, std::uint64_t ahead) {
  constexpr auto kNever = std::numeric_limits<std::uint64_t>::max();
  const std::size_t sets = std::size_t{1} << uses.files();
  std::vector<std::uint64_t> cost(sets, kNever);
  cost[0] = 0;
  for (std::uint64_t use = 0; use < steps; ++use) {
    std::size_t needed = 0;
    for (std::uint64_t i = use; i <= use + ahead; ++i) needed |= std::size_t{1} << uses.FileOf(i);
    std::vector<std::uint64_t> next(sets, kNever);
    for (std::size_t from = 0; from < sets; ++from) {
      if (cost[from] == kNever) continue;
      for (std::size_t to = 0; to < sets; ++to) {
        if ((to & needed) != needed || std::popcount(to) > room) continue;
        const auto copied = static_cast<std::uint64_t>(std::popcount(to & ~from));
        next[to] = std::min(next[to], cost[from] + copied);
      }
    }
    cost = next;
  }
  return std::ranges::min(cost);
}

RC_GTEST_PROP(NextAction, CopiesAsLittleAsPossible, ()) {
  const auto files = *rc::gen::inRange<std::size_t>(3, 6);
  const auto ahead = *rc::gen::inRange<std::uint64_t>(0, 2);
  const auto room = *rc::gen::inRange<std::uint64_t>(2, files);
  World world(Sizes(files, Bytes{1}), Bytes{room}, ahead, *rc::gen::arbitrary<std::uint64_t>(), {{0}});
  const std::uint64_t steps = 4 * files;
  for (std::uint64_t step = 0; step < steps; ++step) {
    world.readers[0].at = step;
    world.Settle();
    RC_ASSERT(world.CanMove(0));
  }
  RC_ASSERT(world.copies == FewestCopies(world.uses, steps, static_cast<int>(room), ahead));
}

TEST(NextAction, BeginsWithTheFirstUseAndFillsFreeRoomInTheirOrder) {
  World world(Sizes(4, Bytes{10}), Bytes{30}, 0, 1, {});
  const auto order = FileOrder(4, 1, 0);
  for (std::size_t place = 0; place < 3; ++place) {
    ASSERT_TRUE(world.Act());
    EXPECT_TRUE(world.present[order[place]]);
  }
  EXPECT_FALSE(world.Act()) << "the fourth has no room and nobody needs it yet";
}

TEST(NextAction, CopiesEachFileOnceWhenAllOfThemFit) {
  World world(Sizes(5, Bytes{10}), Bytes{50}, 1, 3, {{0}, {0}});
  for (std::uint64_t step = 0; step < 50; ++step) {
    world.Settle();
    for (auto& reader : world.readers) ++reader.at;
  }
  EXPECT_EQ(world.copies, 5U);
}

}  // namespace
}  // namespace slipway::staging
