#include <gmock/gmock.h>
#include <rapidcheck.h>

#include <algorithm>

#include "ensemble/analysis/forest.h"
#include "tests/ensemble/analysis/analysis_support.h"

namespace slipway::ensemble {
namespace {

const AxisCells kThreeOrdered({0, AxisKind::kOrdered, 3});
const AxisCells kFourCategories({1, AxisKind::kCategorical, 4});

std::vector<Leaf> Grow(const std::vector<AxisCells>& cells, const std::vector<CellSample>& samples,
                       const TreeSettings& settings = {1, 1.0}) {
  std::vector<const CellSample*> drawn;
  for (const auto& sample : samples) drawn.push_back(&sample);
  Draws draws(1, 0, "test");
  return GrowTree(cells, drawn, {}, draws, settings);
}

bool Holds(const Leaf& leaf, const std::vector<std::uint32_t>& cells) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (!std::ranges::binary_search(leaf.box[i], cells[i])) return false;
  }
  return true;
}

TEST(AxisCells, CutsRangesAndKeepsSingleValues) {
  const AxisCells range({0, AxisKind::kContinuous, 0});
  EXPECT_EQ(range.size(), AxisCells::kMostCells);
  EXPECT_EQ(range.CellOf(0), 0u);
  EXPECT_EQ(range.CellOf(1), AxisCells::kMostCells - 1);
  EXPECT_EQ(AxisCells({0, AxisKind::kOrdered, 1000}).size(), AxisCells::kMostCells);
  EXPECT_EQ(kThreeOrdered.size(), 3u);
  EXPECT_EQ(kThreeOrdered.CellOf(0.5), 1u);
  EXPECT_EQ(kFourCategories.CellOf(3), 3u);
}

TEST(RegressionTree, SetsCategoriesWithTheSameMeanTogether) {
  const auto leaves = Grow({kFourCategories}, {{{0}, 1}, {{1}, 5}, {{2}, 1}, {{3}, 5}});
  ASSERT_EQ(leaves.size(), 2u);
  EXPECT_THAT(leaves[0].box[0], testing::ElementsAre(0, 2));
  EXPECT_EQ(leaves[0].value, 1);
  EXPECT_EQ(leaves[1].value, 5);
}

TEST(RegressionTree, SortsFollowersIntoTheLeaves) {
  const std::vector<CellSample> samples = {{{0}, 1}, {{2}, 5}};
  const std::vector<CellSample> followers = {{{1}, 1}, {{0}, 100}, {{2}, 3}};
  Draws draws(1, 0, "test");
  const auto leaves = GrowTree({kThreeOrdered}, {&samples[0], &samples[1]},
                               {&followers[0], &followers[1], &followers[2]}, draws, {1, 1.0});
  ASSERT_EQ(leaves.size(), 2u);
  EXPECT_THAT(leaves[0].followers, testing::ElementsAre(&followers[1]));
  EXPECT_THAT(leaves[1].followers, testing::ElementsAre(&followers[0], &followers[2]));
  EXPECT_EQ(leaves[0].value, 1) << "followers teach nothing";
}

TEST(RegressionTree, KeepsEnoughSamplesInEachLeaf) {
  const auto leaves = Grow({kThreeOrdered}, {{{0}, 1}, {{1}, 2}, {{2}, 30}}, {2, 1.0});
  ASSERT_EQ(leaves.size(), 1u);
  EXPECT_EQ(leaves[0].value, 11);
}

TEST(RegressionTree, CoversEveryCellOnceWithTheMeanOfItsSamples) {
  rc::check([](const std::vector<std::tuple<std::uint8_t, std::uint8_t, std::int8_t>>& rows) {
    RC_PRE(!rows.empty());
    std::vector<CellSample> samples;
    for (const auto& [x, y, value] : rows) samples.push_back({{x % 3u, y % 4u}, value * 1.0});
    const auto leaves = Grow({kThreeOrdered, kFourCategories}, samples, {2, 0.5});
    for (std::uint32_t x = 0; x < 3; ++x) {
      for (std::uint32_t y = 0; y < 4; ++y) {
        RC_ASSERT(std::ranges::count_if(leaves, [&](const Leaf& leaf) { return Holds(leaf, {x, y}); }) == 1);
      }
    }
    for (const auto& leaf : leaves) {
      double sum = 0;
      double count = 0;
      for (const auto& sample : samples) {
        if (!Holds(leaf, sample.cells)) continue;
        sum += sample.value;
        ++count;
      }
      RC_ASSERT(count > 0);
      RC_ASSERT(std::abs(leaf.value - sum / count) < 1e-9);
    }
  });
}

}  // namespace
}  // namespace slipway::ensemble
