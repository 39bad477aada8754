#include "ensemble/schedulers/asha.h"

#include <gmock/gmock.h>

#include "tests/ensemble/schedulers/scheduler_fixture.h"

namespace slipway::ensemble {
namespace {

using testing::ElementsAre;
using testing::Optional;
using Rung = Judgement::Rung;

TEST(RungResources, MultiplyUpToTheMaximum) {
  EXPECT_THAT(RungResources(1, 9, 3), ElementsAre(1, 3, 9));
  EXPECT_THAT(RungResources(1, 10, 3), ElementsAre(1, 3, 10)) << "9 is too near to 10";
  EXPECT_THAT(RungResources(1, 26, 3), ElementsAre(1, 3, 9, 26));
  EXPECT_THAT(RungResources(0.5, 4, 2), ElementsAre(0.5, 1, 2, 4));
  EXPECT_THAT(RungResources(1, 1, 3), ElementsAre(1));
  EXPECT_EQ(RungResources(1, std::nullopt, 10).size(), 19u);
}

/// Rungs at 1, 3 and 9.
class AshaRules : public testing::Test {
 protected:
  static SchedulerSettings Settings() {
    auto settings = SettingsOf("asha");
    settings.max = 9;
    return settings;
  }
  Decision Take(TrialNumber trial, double resource, double value) {
    return scheduler_->Take({trial, resource, value}).decision;
  }
  /// Trials `first`, `first` + 1, ... enter the first rung and pause.
  void Pause(TrialNumber first, const std::vector<double>& values) {
    for (const double value : values) {
      EXPECT_EQ(Take(first, 1, value), Decision::kPause);
      scheduler_->End(first++, TrialState::kPaused);
    }
  }
  std::unique_ptr<Scheduler> scheduler_ = MakeScheduler(Settings());
};

TEST_F(AshaRules, WhoIsAmongTheBestThirdGoesOnAtOnce) {
  Pause(0, {0.5, 0.4});
  const auto judgement = scheduler_->Take({2, 1, 0.3});
  EXPECT_EQ(judgement.decision, Decision::kContinue);
  EXPECT_THAT(judgement.rung, Optional(Rung{0, 0, 1}));
  EXPECT_EQ(judgement.reason, "rung 0 (at 1): 0.3 is number 1 of 3, of which 1 may go on and 0 already did");
  EXPECT_EQ(scheduler_->Promote(), std::nullopt);
}

TEST_F(AshaRules, ThePausedArePromotedAsSoonAsThereIsAPlace) {
  Pause(0, {0.5, 0.2});
  EXPECT_EQ(scheduler_->Promote(), std::nullopt) << "two trials have no third";
  Pause(2, {0.4});
  EXPECT_EQ(scheduler_->Promote(), TrialNumber{1});
  EXPECT_EQ(scheduler_->Promote(), std::nullopt) << "once";
}

TEST_F(AshaRules, ABetterTrialWaitsForTheNextPlace) {
  Pause(0, {0.5, 0.4});
  EXPECT_EQ(Take(2, 1, 0.3), Decision::kContinue);
  const auto judgement = scheduler_->Take({3, 1, 0.2});
  EXPECT_EQ(judgement.decision, Decision::kPause);
  EXPECT_EQ(judgement.reason, "rung 0 (at 1): 0.2 is number 1 of 4, of which 1 may go on and 1 already did");
  Pause(4, {0.9, 0.8});
  EXPECT_EQ(scheduler_->Promote(), std::nullopt) << "trial 3 has not come to its pause yet";
  scheduler_->End(3, TrialState::kPaused);
  EXPECT_EQ(scheduler_->Promote(), TrialNumber{3});
}

TEST_F(AshaRules, TheHighestRungIsServedFirst) {
  Pause(0, {0.1, 0.2, 0.3});
  EXPECT_EQ(scheduler_->Promote(), TrialNumber{0});
  EXPECT_EQ(Take(0, 3, 0.1), Decision::kPause);
  scheduler_->End(0, TrialState::kPaused);
  Pause(3, {0.15, 0.25, 0.35});
  EXPECT_EQ(scheduler_->Promote(), TrialNumber{3});
  EXPECT_EQ(Take(3, 3, 0.05), Decision::kPause);
  scheduler_->End(3, TrialState::kPaused);
  Pause(6, {0.5, 0.5, 0.5});
  EXPECT_EQ(scheduler_->Promote(), TrialNumber{1});
  EXPECT_EQ(Take(1, 3, 0.5), Decision::kPause) << "third of three";
  scheduler_->End(1, TrialState::kPaused);
  Pause(9, {0.01, 0.5, 0.5});
  EXPECT_EQ(scheduler_->Promote(), TrialNumber{3}) << "it waits at 3, trial 9 only at 1";
  EXPECT_EQ(scheduler_->Promote(), TrialNumber{9});
}

TEST_F(AshaRules, AtTheMaximumNobodyIsPaused) {
  Pause(0, {0.1, 0.2, 0.3});
  EXPECT_EQ(scheduler_->Promote(), TrialNumber{0});
  const auto judgement = scheduler_->Take({0, 9, 0.1});
  EXPECT_EQ(judgement.decision, Decision::kContinue);
  EXPECT_THAT(judgement.rung, Optional(Rung{0, 2, 9}));
  EXPECT_EQ(Take(0, 10, 0.1), Decision::kContinue);
}

TEST_F(AshaRules, TheFirstReportAtOrBeyondARungEntersIt) {
  EXPECT_EQ(Take(0, 0.5, 0.1), Decision::kContinue);
  EXPECT_THAT(scheduler_->Take({0, 3.5, 0.2}).rung, Optional(Rung{0, 1, 3}))
      << "both rungs at once, the higher is told";
  Pause(1, {0.15, 0.1});
  EXPECT_EQ(scheduler_->Promote(), std::nullopt) << "trial 0 went on from the first rung";
}

TEST_F(AshaRules, FailedAndCancelledOnesAreNeverPromotedAndGiveTheirPlaceBack) {
  Pause(0, {0.1, 0.2, 0.3});
  EXPECT_EQ(scheduler_->Promote(), TrialNumber{0});
  scheduler_->End(0, TrialState::kFailed);
  EXPECT_EQ(scheduler_->Promote(), TrialNumber{1});
  scheduler_->End(1, TrialState::kQueued);
  EXPECT_EQ(scheduler_->Promote(), std::nullopt) << "it will run again";
  scheduler_->End(1, TrialState::kCancelled);
  scheduler_->End(2, TrialState::kCancelled);
  EXPECT_EQ(scheduler_->Promote(), std::nullopt);
}

TEST_F(AshaRules, ACompleteTrialKeepsItsPlace) {
  Pause(0, {0.1, 0.2, 0.3});
  EXPECT_EQ(scheduler_->Promote(), TrialNumber{0});
  scheduler_->End(0, TrialState::kComplete);
  EXPECT_EQ(scheduler_->Promote(), std::nullopt);
}

TEST_F(AshaRules, ValuesThatAreNotFiniteEndTheTrial) {
  for (const double bad : {kNotANumber, kInfinite, -kInfinite}) {
    EXPECT_EQ(MakeScheduler(Settings())->Take({0, 1, bad}).decision, Decision::kStop);
  }
  EXPECT_EQ(Take(0, 1, kNotANumber), Decision::kStop);
  EXPECT_EQ(Take(1, 1, kNotANumber), Decision::kStop);
  EXPECT_EQ(Take(2, 1, 0.5), Decision::kContinue) << "best of three";
}

TEST_F(AshaRules, ATrialThatRunsOnWhileItIsPausingKeepsPausing) {
  EXPECT_EQ(Take(0, 1, 0.5), Decision::kPause);
  EXPECT_EQ(Take(0, 2, 0.5), Decision::kContinue) << "it was told already";
  const auto judgement = scheduler_->Take({0, 3, 0.1});
  EXPECT_EQ(judgement.decision, Decision::kPause);
  EXPECT_THAT(judgement.rung, Optional(Rung{0, 1, 3}));
}

TEST_F(AshaRules, ARetryReplacesItsEntry) {
  Pause(0, {0.3, 0.4, 0.5});
  EXPECT_EQ(scheduler_->Promote(), TrialNumber{0});
  scheduler_->End(0, TrialState::kQueued);
  EXPECT_EQ(Take(0, 1, 0.6), Decision::kContinue) << "the promotion stands";
  EXPECT_EQ(scheduler_->Promote(), std::nullopt);
  EXPECT_EQ(scheduler_->Take({3, 1, 0.55}).reason,
            "rung 0 (at 1): 0.55 is number 3 of 4, of which 1 may go on and 1 already did");
  scheduler_->End(0, TrialState::kFailed);
  EXPECT_EQ(scheduler_->Promote(), TrialNumber{1});
}

TEST_F(AshaRules, EqualValuesGoByTheTrialsNumber) {
  Pause(0, {0.5, 0.5, 0.5, 0.5, 0.5, 0.5});
  EXPECT_EQ(scheduler_->Promote(), TrialNumber{0});
  EXPECT_EQ(scheduler_->Promote(), TrialNumber{1});
  EXPECT_EQ(scheduler_->Promote(), std::nullopt);
}

TEST_F(AshaRules, AtTheEndTheLeaderOfEachRungGoesOn) {
  using enum TrialState;
  Pause(0, {0.5, 0.4});
  EXPECT_EQ(scheduler_->Promote(), std::nullopt);
  EXPECT_EQ(scheduler_->Finish(TableOf({kPaused, kPaused})), TrialNumber{1});
  EXPECT_EQ(Take(1, 3, 0.9), Decision::kPause);
  scheduler_->End(1, kPaused);
  EXPECT_EQ(scheduler_->Finish(TableOf({kPaused, kPaused})), TrialNumber{1}) << "it leads the next one";
  scheduler_->End(1, kComplete);
  EXPECT_EQ(scheduler_->Finish(TableOf({kPaused, kComplete})), std::nullopt);
}

/// Trial 0 was the best of the first three; trial 3, which is better, came when the place was given away.
TEST_F(AshaRules, ALeaderThatCameTooLateGoesOnAtTheEnd) {
  using enum TrialState;
  Pause(0, {0.2, 0.5, 0.6});
  EXPECT_EQ(scheduler_->Promote(), TrialNumber{0});
  scheduler_->End(0, kComplete);
  Pause(3, {0.1});
  EXPECT_EQ(scheduler_->Promote(), std::nullopt);
  EXPECT_EQ(scheduler_->Finish(TableOf({kComplete, kPaused, kPaused, kPaused})), TrialNumber{3});
}

TEST_F(AshaRules, TheLeaderOfTheHighestRungIsKnownWhileItWaits) {
  using enum TrialState;
  auto& leads = dynamic_cast<KnowsLeader&>(*scheduler_);
  EXPECT_EQ(leads.PausedLeader(), std::nullopt) << "nobody has begun";
  Pause(0, {0.5, 0.4, 0.6});
  EXPECT_EQ(leads.PausedLeader(), (Leader{1, 1, 9}));
  EXPECT_EQ(scheduler_->Promote(), TrialNumber{1});
  EXPECT_EQ(leads.PausedLeader(), std::nullopt) << "it has gone on";
  EXPECT_EQ(Take(1, 3, 0.9), Decision::kPause);
  scheduler_->End(1, kPaused);
  EXPECT_EQ(leads.PausedLeader(), (Leader{1, 3, 9})) << "nobody else has come so far";
  leads.GoOn({1, 3, 9});
  EXPECT_EQ(leads.PausedLeader(), std::nullopt);
}

TEST_F(AshaRules, WhoLeadsARungIsKnownWhenNobodyComesToItAnyMore) {
  using enum TrialState;
  Pause(0, {0.5, 0.4});
  for (const auto state : {kQueued, kClaimed, kRunning}) {
    EXPECT_EQ(scheduler_->Finish(TableOf({kPaused, kPaused, state})), std::nullopt);
  }
  EXPECT_EQ(scheduler_->Finish(TableOf({kPaused, kPaused, kFailed})), TrialNumber{1});
}

TEST_F(AshaRules, AnotherRungIsNotFinishedBeforeTheOneBelow) {
  using enum TrialState;
  Pause(0, {0.1, 0.2, 0.3});
  EXPECT_EQ(scheduler_->Promote(), TrialNumber{0});
  EXPECT_EQ(Take(0, 3, 0.1), Decision::kPause);
  scheduler_->End(0, kPaused);
  Pause(3, {0.05});
  const auto all = TableOf({kPaused, kPaused, kPaused, kPaused});
  EXPECT_EQ(scheduler_->Finish(all), TrialNumber{3});
  EXPECT_EQ(scheduler_->Finish(TableOf({kPaused, kPaused, kPaused, kRunning})), std::nullopt);
  EXPECT_EQ(Take(3, 3, 0.2), Decision::kPause);
  scheduler_->End(3, kPaused);
  EXPECT_EQ(scheduler_->Finish(all), TrialNumber{0});
}

TEST_F(AshaRules, TellsWhereATrialMayPauseNext) {
  EXPECT_EQ(scheduler_->Limit(7), 1);
  Take(0, 1, 0.5);
  EXPECT_EQ(scheduler_->Limit(0), 3);
  Take(0, 3, 0.5);
  EXPECT_EQ(scheduler_->Limit(0), std::nullopt) << "not at the maximum";
}

TEST_F(AshaRules, TrialsWaitAtRungsOnly) {
  EXPECT_FALSE(scheduler_->MayWait(0)) << "before the first rung nobody would promote it";
  Take(0, 1, 0.5);
  EXPECT_TRUE(scheduler_->MayWait(0));
  Take(0, 2, 0.5);
  EXPECT_TRUE(scheduler_->MayWait(0));
  Take(0, 9, 0.5);
  EXPECT_FALSE(scheduler_->MayWait(0)) << "the last rung is the end";
}

TEST_F(AshaRules, WithoutAMaximumRungsGoOnForEver) {
  auto settings = Settings();
  settings.max.reset();
  const auto scheduler = MakeScheduler(settings);
  EXPECT_THAT(scheduler->Take({0, 81, 0.5}).rung, Optional(Rung{0, 4, 81}));
  EXPECT_EQ(scheduler->Limit(0), 243);
}

TEST_F(AshaRules, AResumedStudyKnowsWhoWasPromoted) {
  using enum TrialState;
  const std::vector<Report> reports = {{0, 1, 0.1}, {1, 1, 0.2}, {2, 1, 0.3}, {3, 1, 0.4}, {4, 1, 0.5}, {5, 1, 0.6}};
  const auto promoted = [&](const std::vector<TrialState>& states) {
    const auto scheduler = MakeScheduler(Settings());
    scheduler->Restore(reports, TableOf(states));
    std::vector<TrialNumber> all;
    while (const auto next = scheduler->Promote()) all.push_back(*next);
    return all;
  };
  EXPECT_THAT(promoted({kPaused, kPaused, kPaused, kPaused, kPaused, kPaused}), ElementsAre(0, 1));
  EXPECT_THAT(promoted({kRunning, kPaused, kPaused, kPaused, kPaused, kPaused}), ElementsAre(1));
  EXPECT_THAT(promoted({kQueued, kPaused, kPaused, kClaimed, kPaused, kPaused}), testing::IsEmpty());
  EXPECT_THAT(promoted({kFailed, kComplete, kPaused, kPaused, kPaused, kPaused}), ElementsAre(2));
}

}  // namespace
}  // namespace slipway::ensemble
