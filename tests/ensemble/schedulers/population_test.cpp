#include "ensemble/schedulers/population.h"

#include <gmock/gmock.h>

#include <set>

#include "tests/ensemble/schedulers/scheduler_fixture.h"

namespace slipway::ensemble {
namespace {

/// Four trials at once, compared at 2, 4, 6, ...; all have reported 0.5 at 1.
class PopulationOfFour : public testing::Test {
 protected:
  static SchedulerSettings Settings() {
    auto settings = SettingsOf("pbt");
    settings.parallel = 4;
    settings.interval = 2;
    return settings;
  }
  static std::unique_ptr<Scheduler> Begun(const SchedulerSettings& settings) {
    auto scheduler = MakeScheduler(settings);
    for (TrialNumber trial = 0; trial < 4; ++trial) {
      EXPECT_EQ(scheduler->Take({trial, 1, 0.5}).decision, Decision::kContinue);
    }
    return scheduler;
  }
  static std::vector<Decision> TakeAt(Scheduler& scheduler, double resource, const std::vector<double>& values) {
    std::vector<Decision> decisions;
    TrialNumber trial = 0;
    for (const double value : values) decisions.push_back(scheduler.Take({trial++, resource, value}).decision);
    return decisions;
  }
  std::unique_ptr<Scheduler> scheduler_ = Begun(Settings());
};

constexpr auto kGo = Decision::kContinue;
constexpr auto kEnd = Decision::kStop;

TEST_F(PopulationOfFour, TheWorstIsReplacedByACopyOfTheBest) {
  EXPECT_FALSE(scheduler_->MayBegin(4));
  EXPECT_THAT(TakeAt(*scheduler_, 2, {0.2, 0.1, 0.3}), testing::ElementsAre(kGo, kGo, kGo));
  const auto judgement = scheduler_->Take({3, 2, 0.4});
  EXPECT_EQ(judgement.decision, Decision::kStop);
  EXPECT_EQ(judgement.reason,
            "at 2: 0.4 is number 4 of 4 that live; it is replaced by a varied copy of one of the best 1");
  scheduler_->End(3, TrialState::kPruned);
  EXPECT_TRUE(scheduler_->MayBegin(4));
  EXPECT_FALSE(scheduler_->MayBegin(5));
  EXPECT_EQ(scheduler_->Descend(4), Descent{1});
  EXPECT_EQ(scheduler_->Descend(3), std::nullopt) << "the first four come from the sampler";
}

TEST_F(PopulationOfFour, WhoMakesRoomGoesOnWhenNobodyIsLeftToDescendFrom) {
  TakeAt(*scheduler_, 2, {0.2, 0.1, 0.3, 0.4});
  EXPECT_TRUE(scheduler_->MayEnd(3));
  scheduler_->Take({3, 3, 0.35});
  for (TrialNumber trial = 0; trial < 3; ++trial) scheduler_->End(trial, TrialState::kComplete);
  EXPECT_FALSE(scheduler_->MayEnd(3));
  scheduler_->End(3, TrialState::kQueued);
  EXPECT_FALSE(scheduler_->MayBegin(4)) << "its place is its own again";
  EXPECT_EQ(scheduler_->Take({3, 4, 0.3}).decision, Decision::kContinue) << "it is alone";
}

TEST_F(PopulationOfFour, WhoMakesRoomGoesOnWhenTheBudgetWasUsedUpMeanwhile) {
  auto settings = Settings();
  settings.trials = 5;
  const auto scheduler = Begun(settings);
  EXPECT_EQ(TakeAt(*scheduler, 2, {0.1, 0.2, 0.3, 0.4}).back(), kEnd);
  scheduler->End(2, TrialState::kFailed);
  EXPECT_FALSE(scheduler->MayEnd(3)) << "trial 4 replaces trial 2";
}

TEST_F(PopulationOfFour, TrialsAreComparedAtTheSameResource) {
  TakeAt(*scheduler_, 2, {0.2, 0.1, 0.3});
  TakeAt(*scheduler_, 3, {0.02, 0.01, 0.03});
  EXPECT_EQ(scheduler_->Take({3, 2, 0.25}).decision, Decision::kContinue) << "at 2 trial 2 was worse";
}

TEST_F(PopulationOfFour, EqualsLeaveEachOtherInPeace) {
  EXPECT_THAT(TakeAt(*scheduler_, 2, {0.5, 0.5, 0.5, 0.5}), testing::Each(kGo));
}

TEST_F(PopulationOfFour, NotANumberIsTheWorst) {
  EXPECT_THAT(TakeAt(*scheduler_, 2, {0.5, kNotANumber, 0.5, 0.5}), testing::ElementsAre(kGo, kEnd, kGo, kGo));
}

TEST_F(PopulationOfFour, NobodyIsReplacedBeyondTheBudget) {
  auto settings = Settings();
  settings.trials = 5;
  const auto scheduler = Begun(settings);
  EXPECT_THAT(TakeAt(*scheduler, 2, {0.1, 0.2, 0.3, 0.4}), testing::ElementsAre(kGo, kGo, kGo, kEnd));
  EXPECT_THAT(TakeAt(*scheduler, 4, {0.1, 0.2, 0.3}), testing::Each(kGo)) << "trial 4 was the last one";
}

TEST_F(PopulationOfFour, HalfOfThePopulationMustBeKnown) {
  const auto scheduler = MakeScheduler(Settings());
  EXPECT_EQ(scheduler->Take({0, 2, 0.1}).decision, Decision::kContinue);
  EXPECT_EQ(scheduler->Take({1, 2, 0.9}).decision, Decision::kContinue);
  EXPECT_EQ(scheduler->Take({2, 2, 0.9}).decision, Decision::kStop);
}

TEST_F(PopulationOfFour, ADescendantTrainsAWholeIntervalFirst) {
  TakeAt(*scheduler_, 2, {0.2, 0.1, 0.3, 0.4});
  for (const double resource : {3, 4}) {
    EXPECT_EQ(scheduler_->Take({4, resource, 0.9}).decision, Decision::kContinue) << resource;
  }
  EXPECT_EQ(scheduler_->Take({4, 5, 0.9}).decision, Decision::kStop);
}

TEST_F(PopulationOfFour, AFailedTrialIsReplaced) {
  scheduler_->End(2, TrialState::kFailed);
  EXPECT_TRUE(scheduler_->MayBegin(4));
  EXPECT_TRUE(scheduler_->Descend(4));
  scheduler_->End(2, TrialState::kQueued);
  EXPECT_FALSE(scheduler_->MayBegin(4)) << "it was given another chance";
}

TEST_F(PopulationOfFour, WithoutAnyParentTheSamplerIsAsked) {
  for (TrialNumber trial = 0; trial < 4; ++trial) scheduler_->End(trial, TrialState::kFailed);
  EXPECT_TRUE(scheduler_->MayBegin(4));
  EXPECT_EQ(scheduler_->Descend(4), std::nullopt);
}

TEST_F(PopulationOfFour, WhenAllAreCompleteTheEnsembleIsOver) {
  scheduler_->End(0, TrialState::kFailed);
  for (TrialNumber trial = 1; trial < 4; ++trial) scheduler_->End(trial, TrialState::kComplete);
  EXPECT_FALSE(scheduler_->MayBegin(4));
}

/// They ran elsewhere: after them the whole population begins, and is replaced as without them.
TEST_F(PopulationOfFour, ImportedTrialsTakeNoPlace) {
  TrialTable imported;
  for (const auto state : {TrialState::kComplete, TrialState::kFailed, TrialState::kPruned, TrialState::kComplete,
                           TrialState::kComplete}) {
    TrialRecord trial;
    trial.number = imported.size();
    trial.state = state;
    trial.origin = kImportedOrigin;
    imported.Add(trial);
  }
  auto settings = Settings();
  settings.trials = 5;
  const auto scheduler = MakeScheduler(settings);
  scheduler->Restore({}, imported);
  for (TrialNumber trial = 5; trial < 9; ++trial) {
    EXPECT_TRUE(scheduler->MayBegin(trial)) << trial;
    EXPECT_EQ(scheduler->Descend(trial), std::nullopt) << trial;
    scheduler->Take({trial, 1, 0.5});
  }
  EXPECT_FALSE(scheduler->MayBegin(9));
  for (TrialNumber trial = 5; trial < 8; ++trial) EXPECT_EQ(scheduler->Take({trial, 2, 0.1}).decision, kGo) << trial;
  EXPECT_EQ(scheduler->Take({8, 2, 0.4}).decision, kEnd);
  scheduler->End(8, TrialState::kPruned);
  EXPECT_TRUE(scheduler->MayBegin(9));
  EXPECT_EQ(scheduler->Descend(9), Descent{5});
  EXPECT_FALSE(scheduler->MayBegin(10));
}

/// It would begin with weights that have nothing left to learn, or not at all.
TEST_F(PopulationOfFour, NobodyIsReplacedByACopyOfATrialThatIsAboutToEnd) {
  auto settings = Settings();
  settings.max = 6;
  const auto scheduler = Begun(settings);
  EXPECT_THAT(TakeAt(*scheduler, 2, {0.2, 0.1, 0.3, 0.4}), testing::ElementsAre(kGo, kGo, kGo, kEnd));
  EXPECT_THAT(TakeAt(*scheduler, 4, {0.2, 0.1, 0.3}), testing::Each(kGo));
}

TEST_F(PopulationOfFour, NobodyDescendsFromATrialAtItsEnd) {
  auto settings = Settings();
  settings.max = 6;
  const auto scheduler = Begun(settings);
  scheduler->End(3, TrialState::kFailed);
  scheduler->Take({1, 6, 0.01});
  EXPECT_NE(scheduler->Descend(4)->parent, 1);
  scheduler->End(0, TrialState::kComplete);
  scheduler->End(2, TrialState::kComplete);
  EXPECT_FALSE(scheduler->MayBegin(4)) << "the only one that lives has nothing left to learn";
}

TEST_F(PopulationOfFour, ParentsAreDrawnFromTheBestQuantile) {
  auto settings = Settings();
  settings.quantile = 0.5;
  const auto scheduler = Begun(settings);
  EXPECT_THAT(TakeAt(*scheduler, 2, {0.1, 0.1, 0.1, 0.1}), testing::Each(kGo));
  std::multiset<TrialNumber> parents;
  for (TrialNumber trial = 4; trial < 404; ++trial) parents.insert(scheduler->Descend(trial)->parent);
  EXPECT_EQ(parents.count(0) + parents.count(1), 400u);
  EXPECT_NEAR(static_cast<double>(parents.count(1)), 200, 40);
}

}  // namespace
}  // namespace slipway::ensemble
