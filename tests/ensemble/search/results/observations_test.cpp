#include "ensemble/search/results/observations.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "ensemble/model/random.h"

namespace slipway::ensemble {
namespace {

using testing::ElementsAre;

class Log : public testing::Test {
 protected:
  void Add(double x, TrialState state, std::optional<double> objective = {}) {
    TrialRecord trial;
    trial.number = table_.size();
    trial.parameters = {{"x", x}};
    trial.state = state;
    trial.objective = objective;
    table_.Add(std::move(trial));
  }
  void Complete(TrialNumber trial, double objective) {
    table_.Edit(trial).state = TrialState::kComplete;
    table_.Edit(trial).objective = objective;
  }

  Encoding encoding_{ParseSpace(Json::parse(R"({"x":{"uniform":[0,10]}})"))};
  TrialTable table_;
  ObservationLog log_{encoding_, Goal::kMaximize};
};

TEST_F(Log, TurnsTheGoalSoThatLessIsBetter) {
  Add(5, TrialState::kComplete, 3.0);
  const auto& known = log_.Update(1, table_);
  ASSERT_EQ(known.complete.size(), 1u);
  EXPECT_EQ(known.complete[0].value, -3.0);
  EXPECT_THAT(known.complete[0].at, ElementsAre(0.5));
}

TEST_F(Log, KeepsTheOrderOfTheNumbersWhoeverEndsFirst) {
  for (int x = 0; x < 3; ++x) Add(x, TrialState::kRunning);
  EXPECT_EQ(log_.Update(3, table_).pending.size(), 3u);
  Complete(2, 20);
  EXPECT_EQ(log_.Update(3, table_).pending.size(), 2u);
  Complete(0, 10);
  const auto& known = log_.Update(3, table_);
  ASSERT_EQ(known.complete.size(), 2u);
  EXPECT_EQ(known.complete[0].trial, 0);
  EXPECT_EQ(known.complete[1].trial, 2);
  EXPECT_THAT(known.pending, ElementsAre(ElementsAre(0.1)));
}

TEST_F(Log, KeepsTheOrderOfTheNumbersWhoeverFailsFirst) {
  for (int x = 0; x < 3; ++x) Add(x, TrialState::kRunning);
  log_.Update(3, table_);
  table_.Edit(2).state = TrialState::kFailed;
  log_.Update(3, table_);
  table_.Edit(0).state = TrialState::kFailed;
  EXPECT_THAT(log_.Update(3, table_).failed, ElementsAre(ElementsAre(0.0), ElementsAre(0.2)));
}

TEST_F(Log, KeepsTheOriginsOfOpenTrials) {
  for (int x = 0; x < 3; ++x) Add(x, TrialState::kRunning);
  for (const TrialNumber trial : {0, 1, 2}) table_.Edit(trial).origin = "gp#" + std::to_string(trial);
  EXPECT_THAT(log_.Update(3, table_).pending_origins, ElementsAre("gp#0", "gp#1", "gp#2"));
  Complete(1, 20);
  EXPECT_THAT(log_.Update(3, table_).pending_origins, ElementsAre("gp#0", "gp#2"));
}

/// As one: whatever becomes of the rows, complete ones included, a log that has lived through it equals a new one.
TEST_F(Log, EqualsANewOneAfterAnyChanges) {
  constexpr TrialState kStates[] = {TrialState::kQueued,   TrialState::kRunning, TrialState::kPaused,
                                    TrialState::kComplete, TrialState::kPruned,  TrialState::kFailed};
  const CounterRandom chance(7, 0, "test");
  for (std::uint32_t i = 0; i < 600; ++i) {
    if (i % 6 == 0) Add(0.01 * i, TrialState::kQueued);
    auto& row = table_.Edit(static_cast<TrialNumber>(chance.Below(static_cast<std::uint64_t>(table_.size()), 3 * i)));
    row.state = kStates[chance.Below(std::size(kStates), 3 * i + 1)];
    row.objective.reset();
    if (row.state == TrialState::kComplete || i % 2 == 0) row.objective = chance.Unit(3 * i + 2);
    const auto& lived = log_.Update(table_.size(), table_);
    ObservationLog anew(encoding_, Goal::kMaximize);
    ASSERT_EQ(Fingerprint(lived), Fingerprint(anew.Update(table_.size(), table_))) << "change " << i;
  }
}

TEST_F(Log, KnowsNothingOfTheTrialThatIsAskedFor) {
  Add(1, TrialState::kFailed);
  Add(2, TrialState::kQueued);
  const auto& known = log_.Update(1, table_);
  EXPECT_THAT(known.failed, ElementsAre(ElementsAre(0.1)));
  EXPECT_TRUE(known.pending.empty());
}

}  // namespace
}  // namespace slipway::ensemble
