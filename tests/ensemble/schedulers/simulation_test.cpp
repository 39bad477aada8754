#include <gmock/gmock.h>
#include <rapidcheck.h>

#include <set>

#include "tests/ensemble/schedulers/simulated_ensemble.h"

namespace slipway::ensemble {
namespace {

SchedulerSettings AnySettings(const std::string& type) {
  auto settings = SettingsOf(type);
  settings.trials = *rc::gen::inRange(1, 40);
  settings.parallel = *rc::gen::inRange(type == "pbt" ? 2 : 1, 9);
  settings.seed = *rc::gen::arbitrary<std::uint64_t>();
  settings.max = 9;
  settings.reduction = *rc::gen::inRange(2, 5);
  settings.interval = *rc::gen::inRange(type == "pbt" ? 1 : 0, 4);
  settings.startup = *rc::gen::inRange(1, 4);
  settings.percentile = *rc::gen::inRange(1, 100);
  settings.patience = type == "patient" ? *rc::gen::inRange(1, 4) : 0;
  settings.upper = 1.5;
  return settings;
}

Troubles AnyTroubles() {
  Troubles troubles;
  troubles.fail = *rc::gen::element(0.0, 0.02, 0.2);
  troubles.interrupt = *rc::gen::element(0.0, 0.05, 0.3);
  troubles.bad_value = *rc::gen::element(0.0, 0.05, 0.5);
  troubles.is_slow_to_stop = *rc::gen::arbitrary<bool>();
  return troubles;
}

class Simulation : public testing::TestWithParam<std::string> {};

TEST_P(Simulation, WhateverHappensItEndsAndARestoredSchedulerDecidesTheSame) {
  EXPECT_TRUE(rc::check(GetParam(), [] {
    SimulatedEnsemble ensemble(AnySettings(GetParam()), 9, AnyTroubles(), *rc::gen::arbitrary<std::uint64_t>());
    ensemble.Run();
    for (const auto& trial : ensemble.table().trials()) {
      RC_ASSERT(IsFinal(trial.state) || trial.state == TrialState::kPaused);
    }
  }));
}

TEST_P(Simulation, WithoutTroublesSomeTrialIsComplete) {
  EXPECT_TRUE(rc::check(GetParam(), [] {
    auto settings = AnySettings(GetParam());
    settings.upper = 10;
    settings.patience = GetParam() == "patient" ? 9 : 0;
    SimulatedEnsemble ensemble(settings, 9, {}, *rc::gen::arbitrary<std::uint64_t>());
    ensemble.Run();
    RC_ASSERT(ensemble.Count(TrialState::kComplete) >= 1);
    RC_ASSERT(ensemble.Count(TrialState::kFailed) == 0);
  }));
}

INSTANTIATE_TEST_SUITE_P(OfEveryType, Simulation, testing::ValuesIn(SchedulerNames()),
                         [](const auto& type) { return type.param; });

class RungSimulation : public testing::TestWithParam<std::string> {};

TEST_P(RungSimulation, ARungSendsOnItsPartAndAtTheEndItsLeader) {
  EXPECT_TRUE(rc::check(GetParam(), [] {
    auto settings = AnySettings(GetParam());
    settings.trials = *rc::gen::inRange(60, 120);
    SimulatedEnsemble ensemble(settings, 9, {}, *rc::gen::arbitrary<std::uint64_t>());
    ensemble.Run();
    std::map<int, int> last;
    for (const auto& [rung, count] : ensemble.entered()) last[rung.first] = std::max(last[rung.first], rung.second);
    for (const auto& [rung, entered] : ensemble.entered()) {
      if (rung.second == last[rung.first]) continue;
      const auto sent_on = ensemble.sent_on().at(rung);
      RC_ASSERT(sent_on <= entered / settings.reduction + 1);
      RC_ASSERT(sent_on >= std::max(1, entered / settings.reduction));
    }
  }));
}

TEST_P(RungSimulation, EveryBracketHasACompleteTrial) {
  EXPECT_TRUE(rc::check(GetParam(), [] {
    const auto settings = AnySettings(GetParam());
    SimulatedEnsemble ensemble(settings, 9, {}, *rc::gen::arbitrary<std::uint64_t>());
    ensemble.Run();
    std::set<int> brackets;
    for (const auto& [rung, count] : ensemble.entered()) brackets.insert(rung.first);
    RC_ASSERT(ensemble.Count(TrialState::kComplete) >= static_cast<int>(brackets.size()));
  }));
}

INSTANTIATE_TEST_SUITE_P(OfEveryType, RungSimulation, testing::Values("asha", "hyperband"),
                         [](const auto& type) { return type.param; });

TEST(PopulationSimulation, TheBudgetIsSpentOnDescendants) {
  auto settings = SettingsOf("pbt");
  settings.trials = 60;
  settings.parallel = 8;
  settings.interval = 2;
  SimulatedEnsemble ensemble(settings, 30, {}, 5);
  ensemble.Run();
  EXPECT_GT(ensemble.table().size(), 20);
  EXPECT_EQ(static_cast<TrialNumber>(ensemble.parents().size()), ensemble.table().size() - 8);
  EXPECT_GE(ensemble.Count(TrialState::kComplete), 4);
}

}  // namespace
}  // namespace slipway::ensemble
