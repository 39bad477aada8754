#include "ensemble/search/gaussian_process/gp_proposer.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace slipway::ensemble {
namespace {

constexpr const char* kProposedPlane = R"({"x":{"uniform":[0,1]},"y":{"uniform":[0,1]}})";

/// Two basins; the deeper one is the narrower.
double TwoBasins(const Coordinates& at) {
  const auto basin = [&](double x, double y, double width) {
    return std::exp(-(std::pow(at[0] - x, 2) + std::pow(at[1] - y, 2)) / (width * width));
  };
  return 1 - 0.8 * basin(0.75, 0.7, 0.3) - basin(0.2, 0.25, 0.12);
}

class GpSearch : public testing::Test {
 protected:
  using Objective = double (*)(const Coordinates& at);

  /// Runs sequentially; the best value so far.
  double Run(Objective objective, int trials, std::uint64_t seed = 1) {
    GpProposer proposer(encoding_, seed);
    double best = 1e300;
    for (TrialNumber trial = 0; trial < trials; ++trial) {
      auto at = proposer.Propose(known_, trial, 0);
      const double value = objective(at);
      best = std::min(best, value);
      known_.complete.push_back({trial, std::move(at), value, {}});
    }
    return best;
  }

  Encoding encoding_{ParseSpace(Json::parse(kProposedPlane))};
  Observations known_;
};

TEST_F(GpSearch, FindsTheBottomOfABowlToSixDigits) {
  EXPECT_LT(Run([](const Coordinates& at) { return std::pow(at[0] - 0.37, 2) + 3 * std::pow(at[1] - 0.61, 2); }, 40),
            1e-6);
}

TEST_F(GpSearch, LeavesTheWideBasinForTheDeeperOne) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    known_ = {};
    EXPECT_LT(Run(TwoBasins, 120, seed), 0.01) << "seed " << seed;
  }
}

TEST_F(GpSearch, FillsTheSpaceFirst) {
  const GpProposer proposer(encoding_, 1);
  Run(TwoBasins, static_cast<int>(proposer.design()));
  const auto lower_half = std::ranges::count_if(known_.complete, [](const auto& result) { return result.at[0] < 0.5; });
  EXPECT_GE(lower_half, 2);
  EXPECT_LE(lower_half, proposer.design() - 2);
}

TEST_F(GpSearch, SpreadsTrialsThatRunAtTheSameTime) {
  Run(TwoBasins, 20);
  GpProposer proposer(encoding_, 1);
  for (TrialNumber trial = 20; trial < 28; ++trial) known_.pending.push_back(proposer.Propose(known_, trial, 0));
  for (std::size_t i = 0; i < 8; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_GT(LargestDifference(known_.pending[i], known_.pending[j], encoding_.axes()), 1e-6);
    }
  }
}

TEST_F(GpSearch, AvoidsWhereTrialsFailed) {
  Run([](const Coordinates& at) { return at[0]; }, 10);
  // All that lies low would be good, and fails.
  std::erase_if(known_.complete, [](const auto& result) { return result.at[0] < 0.3; });
  GpProposer proposer(encoding_, 1);
  int failures = 0;
  for (TrialNumber trial = 10; trial < 50; ++trial) {
    auto at = proposer.Propose(known_, trial, 0);
    if (at[0] < 0.3) {
      ++failures;
      known_.failed.push_back(std::move(at));
    } else {
      known_.complete.push_back({trial, at, at[0], {}});
    }
  }
  EXPECT_LT(failures, 20);
}

TEST_F(GpSearch, ProposesAnotherPlaceForEachAttempt) {
  Run(TwoBasins, 12);
  GpProposer proposer(encoding_, 1);
  const auto first = proposer.Propose(known_, 12, 0);
  const auto second = proposer.Propose(known_, 12, 1);
  EXPECT_NE(first, second);
  EXPECT_EQ(first, proposer.Propose(known_, 12, 0));
}

TEST_F(GpSearch, ThinsOutWhatIsTooMuch) {
  for (TrialNumber trial = 0; trial < 1500; ++trial) {
    Draws draws(1, trial, "test");
    const Coordinates at = {draws.Unit(), draws.Unit()};
    known_.complete.push_back({trial, at, TwoBasins(at), {}});
  }
  GpProposer proposer(encoding_, 1);
  // Some of the steps look everywhere; those that do not go into a basin.
  double least = 1;
  for (TrialNumber trial = 1501; trial < 1507; ++trial) {
    least = std::min(least, TwoBasins(proposer.Propose(known_, trial, 0)));
  }
  EXPECT_LT(least, 0.01);
}

TEST(GpSearchOfASum, ProposesAfterARestartWhatItWouldHaveProposed) {
  const Encoding encoding(ParseSpace(
      Json::parse(R"({"a":{"uniform":[0,1]},"b":{"uniform":[0,1]},"c":{"uniform":[0,1]},"d":{"uniform":[0,1]}})")));
  GpProposer lived(encoding, 1);
  Observations known;
  for (TrialNumber trial = 0; trial < 45; ++trial) {
    auto at = lived.Propose(known, trial, 0);
    if (trial > 30) {
      EXPECT_EQ(at, GpProposer(encoding, 1).Propose(known, trial, 0)) << trial;
    }
    double sum = 0;
    for (const double x : at) sum += std::sin(9 * x);
    known.complete.push_back({trial, std::move(at), sum, {}});
  }
}

}  // namespace
}  // namespace slipway::ensemble
