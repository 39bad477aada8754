#include "ensemble/search/results/pareto.h"

#include <gmock/gmock.h>
#include <rapidcheck.h>

#include <limits>
#include <set>

namespace slipway::ensemble {
namespace {

using testing::ElementsAre;
constexpr double kWorst = std::numeric_limits<double>::infinity();

TEST(Pareto, DominatesOnlyWhoIsNowhereWorse) {
  EXPECT_TRUE(Dominates({1, 2}, {1, 3}));
  EXPECT_FALSE(Dominates({1, 3}, {1, 2}));
  EXPECT_FALSE(Dominates({1, 2}, {2, 1}));
  EXPECT_FALSE(Dominates({1, 2}, {1, 2}));
}

TEST(Pareto, SortsIntoFronts) {
  const std::vector<Objectives> points = {{1, 5}, {2, 2}, {5, 1}, {3, 3}, {2, 6}, {4, 4}, {6, 6}};
  EXPECT_THAT(Fronts(points), ElementsAre(0, 0, 0, 1, 1, 2, 3));
  EXPECT_TRUE(Fronts({}).empty());
}

TEST(Pareto, MeasuresTheRoomWithinAFront) {
  const std::vector<Objectives> points = {{0, 10}, {1, 6}, {5, 5}, {10, 0}};
  const std::vector<std::size_t> fronts(4, 0);
  EXPECT_THAT(CrowdingDistances(points, fronts),
              ElementsAre(kWorst, 5.0 / 10 + 5.0 / 10, 9.0 / 10 + 6.0 / 10, kWorst));
}

TEST(Pareto, EqualPointsDoNotShareTheEndOfAFront) {
  const std::vector<Objectives> points = {{0, 1}, {0, 1}, {1, 0}};
  EXPECT_THAT(SelectBest(points, 2), ElementsAre(0, 2));
}

TEST(Pareto, SelectsByFrontThenByRoom) {
  const std::vector<Objectives> points = {{3, 3}, {0, 10}, {1, 6}, {5, 5}, {10, 0}};
  const auto best = SelectBest(points, 4);
  EXPECT_EQ(std::set<std::size_t>(best.begin(), best.end()), (std::set<std::size_t>{0, 1, 2, 4}));
  EXPECT_EQ(SelectBest(points, 99).size(), 5u);
}

TEST(Pareto, AFrontIsDominatedByTheOneBeforeAndByNoneOfItsOwn) {
  rc::check([](const std::vector<std::pair<std::uint8_t, std::uint8_t>>& pairs) {
    std::vector<Objectives> points;
    for (const auto& [x, y] : pairs) points.push_back({x % 16 * 1.0, y % 16 * 1.0});
    const auto fronts = Fronts(points);
    for (std::size_t i = 0; i < points.size(); ++i) {
      bool has_better = false;
      for (std::size_t j = 0; j < points.size(); ++j) {
        if (!Dominates(points[j], points[i])) continue;
        RC_ASSERT(fronts[j] < fronts[i]);
        has_better = has_better || fronts[j] + 1 == fronts[i];
      }
      RC_ASSERT(has_better || fronts[i] == 0);
    }
  });
}

}  // namespace
}  // namespace slipway::ensemble
