#include "ensemble/schedulers/signed_rank.h"

#include <gmock/gmock.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace slipway::ensemble {
namespace {

constexpr double kUnknownDifference = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfiniteDifference = std::numeric_limits<double>::infinity();

/// Pairs with these differences; above 0 the candidate is worse.
PairedValues Pairs(const std::vector<double>& differences) {
  PairedValues pairs;
  for (const double difference : differences) pairs.emplace_back(difference, 0.0);
  return pairs;
}

TEST(SignedRank, KnownProbabilities) {
  EXPECT_EQ(SignedRankProbability(Pairs({1, 2, 3, 4, 5, 6})), 1.0 / 64);
  EXPECT_EQ(SignedRankProbability(Pairs({-1, -2, -3})), 1);
  EXPECT_EQ(SignedRankProbability(Pairs({1, 2, 3, -4})), 7.0 / 16);
  EXPECT_EQ(SignedRankProbability(Pairs({1, 1, -1})), 4.0 / 8) << "ties share rank 2";
}

TEST(SignedRank, EqualPairsAreRankedAndLeftOut) {
  EXPECT_EQ(SignedRankProbability({}), 1);
  EXPECT_EQ(SignedRankProbability(Pairs({0, 0})), 1);
  // The ranks are 4, 5 and 6: four of eight sums reach 9. Without the zeros they would be 1, 2 and 3: five of eight.
  EXPECT_EQ(SignedRankProbability(Pairs({0, 0, 0, 1, 2, -3})), 4.0 / 8);
}

TEST(SignedRank, WhatIsNotFiniteIsTheWorst) {
  EXPECT_EQ(SignedRankProbability({{kUnknownDifference, 1}, {kInfiniteDifference, 2}, {-kInfiniteDifference, 3}}), 1.0 / 8);
  EXPECT_EQ(SignedRankProbability({{1, kUnknownDifference}, {2, kInfiniteDifference}}), 1);
  EXPECT_EQ(SignedRankProbability({{kUnknownDifference, kInfiniteDifference}}), 1);
}

/// All signs of all ranks, one by one.
double ByEnumeration(const std::vector<double>& differences) {
  std::vector<double> ranks;
  double observed = 0;
  for (const double one : differences) {
    const auto is_below = [&](double other) { return std::abs(other) < std::abs(one); };
    const auto is_equal = [&](double other) { return std::abs(other) == std::abs(one); };
    if (one == 0) continue;
    ranks.push_back(static_cast<double>(std::ranges::count_if(differences, is_below)) +
                    (static_cast<double>(std::ranges::count_if(differences, is_equal)) + 1) / 2);
    if (one > 0) observed += ranks.back();
  }
  int reached = 0;
  for (unsigned signs = 0; signs < 1u << ranks.size(); ++signs) {
    double sum = 0;
    for (std::size_t i = 0; i < ranks.size(); ++i) sum += (signs >> i & 1) != 0 ? ranks[i] : 0;
    reached += sum >= observed ? 1 : 0;
  }
  return reached / static_cast<double>(1u << ranks.size());
}

TEST(SignedRank, IsExactForFewPairs) {
  EXPECT_TRUE(rc::check("as by enumeration", [] {
    const auto count = *rc::gen::inRange<std::size_t>(0, 11);
    const auto whole =
        *rc::gen::container<std::vector<int>>(count, rc::gen::inRange(-6, 7));  // so small that many are ties
    const std::vector<double> differences(whole.begin(), whole.end());
    RC_ASSERT(std::abs(SignedRankProbability(Pairs(differences)) - ByEnumeration(differences)) < 1e-12);
  }));
}

TEST(SignedRank, ApproximatesManyPairs) {
  std::vector<double> differences;
  for (int i = 0; i < 30; ++i) differences.push_back((i * 7) % 11 - 4);
  // SciPy 1.10.1: wilcoxon(zero_method="pratt", correction=True, alternative="greater", mode="approx").
  EXPECT_NEAR(SignedRankProbability(Pairs(differences)), 0.050425134812, 1e-9);
}

TEST(SignedRank, ExactAndApproximateMeetAtTheirBorder) {
  std::vector<double> differences;
  for (int i = 1; i <= 25; ++i) differences.push_back(i % 3 == 0 ? -i : i);
  const double exact = SignedRankProbability(Pairs(differences));
  differences.push_back(0);
  EXPECT_NEAR(SignedRankProbability(Pairs(differences)), exact, 0.01);
}

TEST(IsWorse, NeedsEnoughPairs) {
  EXPECT_FALSE(IsWorse(Pairs({9, 9, 9}), 0.1));
  EXPECT_TRUE(IsWorse(Pairs({9, 9, 9, 9}), 0.1));
  EXPECT_FALSE(IsWorse(Pairs({-9, -9, -9, -9}), 0.1));
}

}  // namespace
}  // namespace slipway::ensemble
