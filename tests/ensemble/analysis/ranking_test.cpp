#include "ensemble/analysis/ranking.h"

#include <gmock/gmock.h>
#include <rapidcheck.h>

#include <algorithm>

namespace slipway::ensemble {
namespace {

using Points = std::vector<Objectives>;

std::vector<std::size_t> Order(const std::vector<Standing>& standings) {
  std::vector<std::size_t> order;
  for (const auto& standing : standings) order.push_back(standing.point);
  return order;
}

TEST(Ranking, OrdersByFrontThenByRoom) {
  const Points points = {{3, 3}, {0, 10}, {1, 6}, {5, 5}, {10, 0}, {2, 5.5}};
  const auto standings = OrderByFronts(points);
  EXPECT_THAT(Order(standings), testing::ElementsAre(1, 4, 0, 2, 5, 3));
  EXPECT_EQ(standings[4].front, 0u);
  EXPECT_EQ(standings[5].front, 1u);
}

TEST(Ranking, WithOneObjectiveTheOrderIsThatOfTheValues) {
  const auto standings = OrderByFronts(Points{{3}, {1}, {2}, {1}});
  EXPECT_THAT(Order(standings), testing::ElementsAre(1, 3, 2, 0));
  EXPECT_TRUE(OrderByFronts({}).empty());
}

TEST(Hypervolume, OfKnownFronts) {
  EXPECT_EQ(Hypervolume(Points{{3}, {1}}, {4}), 3);
  EXPECT_EQ(Hypervolume(Points{{1, 3}, {2, 2}, {3, 1}}, {4, 4}), 6);
  EXPECT_EQ(Hypervolume(Points{{1, 1, 1}}, {2, 3, 4}), 6);
  EXPECT_EQ(Hypervolume(Points{{0, 0, 1}, {1, 1, 0}}, {2, 2, 2}), 5);
  EXPECT_EQ(Hypervolume(Points{{0, 0, 0, 0}, {1, 1, 1, 1}}, {2, 2, 2, 2}), 16);
  EXPECT_EQ(Hypervolume({}, {1, 1}), 0);
}

TEST(Hypervolume, OfPointsBeyondTheReferenceIsNothing) {
  EXPECT_EQ(Hypervolume(Points{{1, 4}, {4, 1}, {9, 9}}, {4, 4}), 0);
  EXPECT_EQ(Hypervolume(Points{{1, 1}, {0, 5}}, {4, 4}), 9);
}

/// Points with whole coordinates from 0 to 3 dominate whole unit cells below 4: they can be counted.
double Counted(const Points& points, std::size_t objectives) {
  double count = 0;
  for (std::size_t cell = 0; cell < std::size_t{1} << (2 * objectives); ++cell) {
    const auto holds = [&](const Objectives& point) {
      for (std::size_t m = 0; m < objectives; ++m) {
        if (point[m] > static_cast<double>(cell >> (2 * m) & 3)) return false;
      }
      return true;
    };
    count += std::ranges::any_of(points, holds) ? 1 : 0;
  }
  return count;
}

TEST(Hypervolume, IsWhatCountingGives) {
  rc::check([](const std::vector<std::uint16_t>& numbers) {
    for (std::size_t objectives = 1; objectives <= 5; ++objectives) {
      Points points;
      for (const auto number : numbers) {
        points.emplace_back();
        for (std::size_t m = 0; m < objectives; ++m) points.back().push_back(number >> (2 * m) & 3);
      }
      RC_ASSERT(Hypervolume(points, Objectives(objectives, 4.0)) == Counted(points, objectives));
    }
  });
}

TEST(Hypervolume, DoesNotDependOnTheOrder) {
  Points points = {{0.1, 0.9, 0.5}, {0.4, 0.4, 0.6}, {0.9, 0.1, 0.2}, {0.3, 0.8, 0.1}, {0.3, 0.8, 0.1}};
  const auto before = Hypervolume(points, {1, 1, 1});
  std::ranges::sort(points, std::greater<>());
  EXPECT_NEAR(Hypervolume(points, {1, 1, 1}), before, 1e-15);
}

TEST(WorstPoint, LiesBeyondAllPoints) {
  EXPECT_FALSE(WorstPoint({}));
  const auto worst = *WorstPoint(Points{{0, 5}, {10, 5}});
  EXPECT_NEAR(worst[0], 11, 1e-12);
  EXPECT_NEAR(worst[1], 6, 1e-12);
}

}  // namespace
}  // namespace slipway::ensemble
