#include "ensemble/search/portfolio/restarts.h"

#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "ensemble/search/portfolio/search_runs.h"
#include "tests/ensemble/search/snapped.h"

namespace slipway::ensemble {
namespace {

constexpr const char* kRestartSpace = R"({"x":{"uniform":[0,1]},"y":{"uniform":[0,1]},"z":{"uniform":[0,1]}})";

double Basin(const Coordinates& at, double middle, double width) {
  double sum = 0;
  for (const double x : at) sum += std::pow((x - middle) / width, 2);
  return std::exp(-sum);
}

/// A wide basin that ends at -0.8 and a narrower one that ends at -1.
double WideAndDeep(const Coordinates& at) { return -0.8 * Basin(at, 0.8, 0.35) - Basin(at, 0.1, 0.25); }

class RestartedSearch : public testing::Test {
 protected:
  /// The best value of `trials` trials, `parallel` of them open at a time.
  double Run(int trials, std::uint64_t seed, int parallel = 1) {
    search_ = std::make_unique<Restarts>(encoding_, seed);
    known_ = {};
    double best = 1;
    TrialNumber told = 0;
    for (TrialNumber trial = 0; trial < trials; ++trial) {
      known_.pending.push_back(Snapped(encoding_, search_->Propose(known_, trial, 0)));
      known_.pending_origins.emplace_back(search_->Origin());
      for (; static_cast<int>(known_.pending.size()) == parallel; ++told) best = std::min(best, Tell(told));
    }
    return best;
  }
  double Tell(TrialNumber trial) {
    const double value = WideAndDeep(known_.pending.front());
    known_.complete.push_back({trial, known_.pending.front(), value, {}, known_.pending_origins.front()});
    known_.pending.erase(known_.pending.begin());
    known_.pending_origins.erase(known_.pending_origins.begin());
    return value;
  }

  Encoding encoding_{ParseSpace(Json::parse(kRestartSpace))};
  std::unique_ptr<Restarts> search_;
  Observations known_;
};

// With these seeds the first run ends in the wide one.
TEST_F(RestartedSearch, LeavesAMinimumThatIsFoundForADeeperOne) {
  for (const std::uint64_t seed : {3, 5}) EXPECT_LT(Run(160, seed), -0.999) << "seed " << seed;
}

TEST_F(RestartedSearch, GivesTheWholeSearchEachFifthTrialWhenItHasConverged) {
  Run(120, 1);
  const auto runs = ReplayRuns(known_, 5, encoding_.axes());
  ASSERT_TRUE(runs.converged);
  for (TrialNumber trial = 120; trial < 130; ++trial) {
    search_->Propose(known_, trial, 0);
    EXPECT_EQ(RunOf(search_->Origin()), trial % 5 == 0 ? 0 : runs.run);
  }
}

TEST_F(RestartedSearch, FillsTheSpaceAnewWithOtherPoints) {
  Run(120, 1);
  std::set<Coordinates> first, anew;
  for (const auto& result : known_.complete) {
    if (result.trial < 5) first.insert(result.at);
    if (RunOf(result.origin) == 1 && anew.size() < 5) anew.insert(result.at);
  }
  EXPECT_EQ(first.size(), 5u);
  EXPECT_EQ(anew.size(), 5u);
  for (const auto& at : anew) EXPECT_FALSE(first.contains(at));
}

TEST_F(RestartedSearch, ProposesTheSameAfterARestartOfTheProgram) {
  Run(120, 2, 3);
  Restarts other(encoding_, 2);
  for (TrialNumber trial = 120; trial < 130; ++trial) {
    EXPECT_EQ(other.Propose(known_, trial, 0), search_->Propose(known_, trial, 0));
    EXPECT_EQ(other.Origin(), search_->Origin());
  }
}

TEST_F(RestartedSearch, GivesTrialsOfARunThatAreOpenTogetherDifferentPlaces) {
  Run(120, 1);
  std::set<Coordinates> places;
  for (TrialNumber trial = 121; trial < 125; ++trial) {
    known_.pending.push_back(search_->Propose(known_, trial, 0));
    known_.pending_origins.emplace_back(search_->Origin());
    EXPECT_GT(RunOf(search_->Origin()), 0u);
    EXPECT_TRUE(places.insert(known_.pending.back()).second);
  }
}

}  // namespace
}  // namespace slipway::ensemble
