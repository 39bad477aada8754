// How many threads combine: what a rank may use, what is worth it, and when there are too many.

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <optional>
#include <vector>

#include "runtime/reduction/combine_threads.h"

namespace slipway::test {
namespace {

using runtime::FastestThreads;
using runtime::LateHelpers;
using runtime::MostCombineThreads;
using std::chrono::microseconds;
using std::chrono::milliseconds;

TEST(MostCombineThreads, LeaveAProcessorToTheProgram) {
  const auto most = [](int processors, int ranks) {
    return MostCombineThreads({.processors = processors, .ranks_on_them = ranks});
  };
  EXPECT_EQ(most(1, 1), 1);
  EXPECT_EQ(most(2, 1), 1);
  EXPECT_EQ(most(2, 2), 1);
  EXPECT_EQ(most(2, 5), 1);
  EXPECT_EQ(most(3, 1), 2);
  EXPECT_EQ(most(16, 2), 7);
  EXPECT_EQ(most(16, 3), 4);
  EXPECT_EQ(most(16, 1), 8);
  EXPECT_EQ(most(192, 8), 8);
}

TEST(MostCombineThreads, KeepToTheQuotaOfAllRanks) {
  const auto most = [](double quota, int ranks) {
    return MostCombineThreads({.processors = 64, .quota = quota, .ranks_in_quota = ranks});
  };
  EXPECT_EQ(most(0.5, 1), 1);
  EXPECT_EQ(most(4, 1), 3);
  EXPECT_EQ(most(4.5, 1), 3);
  EXPECT_EQ(most(8, 2), 3);
  EXPECT_EQ(most(8, 8), 1);
}

/// FastestThreads() with these times in milliseconds, by number of threads; nothing for other numbers.
struct Search {
  Search(int most, const std::map<int, int>& times) {
    chosen = FastestThreads(most, [&](int threads) -> std::optional<std::chrono::nanoseconds> {
      tried.push_back(threads);
      const auto time = times.find(threads);
      if (time == times.end()) return {};
      return milliseconds(time->second);
    });
  }

  int chosen = 0;
  std::vector<int> tried;
};

using Tried = std::vector<int>;

TEST(FastestThreads, AreAsManyAsGainEachTime) {
  const Search search(8, {{1, 100}, {2, 60}, {4, 40}, {8, 30}});
  EXPECT_EQ(search.chosen, 8);
  EXPECT_EQ(search.tried, (Tried{1, 2, 4, 8}));
}

TEST(FastestThreads, AreMoreOnlyWhereTheyGainFifteenPercent) {
  EXPECT_EQ(Search(8, {{1, 100}, {2, 86}}).chosen, 1);
  EXPECT_EQ(Search(8, {{1, 100}, {2, 84}, {4, 84}}).chosen, 2);
}

TEST(FastestThreads, AreNotSearchedBeyondTheFirstThatDoNotGain) {
  const Search search(8, {{1, 100}, {2, 60}, {4, 55}, {8, 10}});
  EXPECT_EQ(search.chosen, 2);
  EXPECT_EQ(search.tried, (Tried{1, 2, 4}));
}

TEST(FastestThreads, AreOneWhereOthersAreSlower) {
  const Search search(8, {{1, 100}, {2, 300}, {4, 10}});
  EXPECT_EQ(search.chosen, 1);
  EXPECT_EQ(search.tried, (Tried{1, 2}));
}

TEST(FastestThreads, KeepToTheLimit) {
  EXPECT_EQ(Search(1, {{1, 100}, {2, 10}}).tried, (Tried{1}));
  const Search three(3, {{1, 100}, {2, 60}, {3, 40}, {4, 10}});
  EXPECT_EQ(three.chosen, 3);
  EXPECT_EQ(three.tried, (Tried{1, 2, 3}));
  const Search four(4, {{1, 100}, {2, 60}, {4, 40}, {8, 10}});
  EXPECT_EQ(four.chosen, 4);
  EXPECT_EQ(four.tried, (Tried{1, 2, 4}));
}

TEST(FastestThreads, AreThoseBeforeTheFirstThatCannotBeTimed) {
  EXPECT_EQ(Search(8, {{1, 100}, {2, 60}, {8, 10}}).chosen, 2);
  EXPECT_EQ(Search(8, {{2, 60}}).chosen, 1);
}

/// A work that is a wait for the most part.
bool CountLong(LateHelpers& late) { return late.Count(microseconds(1000), microseconds(501)); }
bool CountShort(LateHelpers& late) { return late.Count(microseconds(1000), microseconds(500)); }

TEST(LateHelpers, AreTooManyAfterFourLongWaits) {
  LateHelpers late;
  for (int times = 0; times < 3; ++times) {  // counting starts at zero
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(CountLong(late)) << times << i;
    EXPECT_TRUE(CountLong(late)) << times;
  }
}

TEST(LateHelpers, AreCountedInTheLastEightWorks) {
  LateHelpers often;
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(CountLong(often));
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(CountShort(often));
  EXPECT_TRUE(CountLong(often));
  LateHelpers seldom;
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(CountLong(seldom));
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(CountShort(seldom));
  EXPECT_FALSE(CountLong(seldom));
}

TEST(LateHelpers, AreNotThoseOfShortWaits) {
  LateHelpers late;
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(late.Count(microseconds(110), microseconds(100)));
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(CountShort(late));
}

}  // namespace
}  // namespace slipway::test
