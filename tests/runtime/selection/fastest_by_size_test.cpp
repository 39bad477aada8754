#include "runtime/selection/fastest_by_size.h"

#include <gtest/gtest.h>

#include <vector>

namespace slipway::runtime {
namespace {

enum class Letter { kA, kB, kC };

using Times = std::vector<TimeOfWay<Letter>>;
using Table = std::vector<WayUpTo<Letter>>;

Table TableOfTimes(const Times& times) { return FastestBySize(std::span<const TimeOfWay<Letter>>(times)); }

TEST(FastestBySize, OfNoTimesIsEmpty) {
  EXPECT_TRUE(TableOfTimes({}).empty());
  EXPECT_EQ(WayFor(Table(), 1000, Letter::kC), Letter::kC);
}

TEST(FastestBySize, ChangesTheWayAtTheGeometricMeanOfTwoSizes) {
  const Times times{{4096, Letter::kA, 1e-6},  {4096, Letter::kB, 2e-6},  {16384, Letter::kA, 3e-6},
                    {16384, Letter::kB, 2e-6}, {65536, Letter::kA, 9e-6}, {65536, Letter::kB, 4e-6}};
  EXPECT_EQ(TableOfTimes(times), (Table{{8192, Letter::kA}, {kAnySize, Letter::kB}}));
}

TEST(FastestBySize, MayReturnToAWay) {
  const Times times{{1 << 10, Letter::kA, 2e-6}, {1 << 10, Letter::kB, 1e-6}, {1 << 14, Letter::kA, 1e-6},
                    {1 << 14, Letter::kB, 2e-6}, {1 << 18, Letter::kA, 2e-6}, {1 << 18, Letter::kB, 1e-6}};
  EXPECT_EQ(TableOfTimes(times), (Table{{1 << 12, Letter::kB}, {1 << 16, Letter::kA}, {kAnySize, Letter::kB}}));
}

/// The other way was not timed with each size.
TEST(FastestBySize, KeepsTheFirstWayUnlessAnotherIsClearlyFaster) {
  const Times times{{1024, Letter::kA, 10e-6}, {1024, Letter::kB, 9.5e-6}, {4096, Letter::kA, 10e-6}};
  EXPECT_EQ(TableOfTimes(times), (Table{{kAnySize, Letter::kA}}));
}

TEST(FastestBySize, HasAWayForEachSize) {
  const Table table{{8192, Letter::kA}, {kAnySize, Letter::kB}};
  for (const std::int64_t small : {0, 1, 8191, 8192}) EXPECT_EQ(WayFor(table, small, Letter::kC), Letter::kA) << small;
  for (const std::int64_t large : {std::int64_t{8193}, kAnySize}) {
    EXPECT_EQ(WayFor(table, large, Letter::kC), Letter::kB) << large;
  }
}

}  // namespace
}  // namespace slipway::runtime
