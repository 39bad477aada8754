// A manager is killed, and for a long time there is no other: what the trials of that time cost.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "ensemble/manager/manager.h"
#include "tests/ensemble/hand_clock.h"
#include "tests/ensemble/manager/fake_runner.h"
#include "tests/support/temp_directory.h"

namespace slipway::ensemble {
namespace {

using test::TempDirectory;

struct KilledAway {};

/// Its trials say nothing and run until they are stopped. They end with their manager, or go on without one.
class SilentRunner : public TrialRunner {
 public:
  explicit SilentRunner(HandClock& clock) : clock_(clock) {}

  ProcessIdentity Prepare(const TrialStart& start) override { return {1000 + start.trial, 1, "boot"}; }
  void Release(TrialNumber trial) override {
    ++released_;
    if (queues_) events_.push_back(TrialBegan{trial, 1, Now()});
    began_ = Now();
  }
  bool Queues() const override { return queues_; }
  void Stop(TrialNumber trial, StopReason) override { events_.push_back(TrialEnded{trial, released_, {1, 0}, ""}); }
  void EndOrphan(const ProcessIdentity&) override {}
  std::vector<TrialEvent> Recover(TrialNumber trial, int attempt) override {
    std::vector<TrialEvent> events;
    if (queues_) events.push_back(TrialBegan{trial, attempt, began_});
    if (ended_) events.push_back(TrialEnded{trial, attempt, {1, 0}, "", OutsideCause::kNone, ended_});
    return events;
  }
  bool GoesOn(TrialNumber, int) override { return queues_; }

  std::vector<TrialEvent> Wait(std::chrono::nanoseconds) override {
    if (clock_.passed >= dies_at_) throw KilledAway{};
    clock_.Sleep(std::chrono::seconds(1));
    return std::exchange(events_, {});
  }

  double Now() { return UnixSeconds(clock_.Now()); }

  HandClock& clock_;
  bool queues_ = false;
  std::chrono::nanoseconds dies_at_ = std::chrono::hours(1000);  // the manager
  std::optional<double> ended_;                                  // without one
  double began_ = 0;

 private:
  int released_ = 0;
  std::vector<TrialEvent> events_;
};

class Absence : public testing::Test {
 protected:
  Absence() {
    options_.objectives = {{"accuracy"}};
    options_.trials = 1;
    options_.parallel = 1;
    options_.sampler = "random";
    options_.space = ParseSpace(Json::parse(R"({"lr":{"log":[1e-4,1]}})"));
    options_.need = {2, 1, 0};
  }

  EnsembleSummary RunStudy() {
    auto book = TrialBook::OpenForWriting(folder_.path());
    CountingObserver observer;
    return RunEnsemble(book, options_, runner_, observer, clock_);
  }

  /// For 100 s.
  void RunUntilKilled() {
    runner_.dies_at_ = std::chrono::seconds(100);
    EXPECT_THROW(RunStudy(), KilledAway);
    runner_.dies_at_ = std::chrono::hours(1000);
  }

  /// The next manager comes so much later.
  EnsembleSummary RunWithAbsence(std::chrono::seconds later) {
    RunUntilKilled();
    clock_.passed += later;
    return RunStudy();
  }

  double SecondsOf(int attempt) {
    const auto attempts = TrialBook::OpenForReading(folder_.path()).Attempts(0);
    const auto& it = attempts.at(static_cast<std::size_t>(attempt - 1));
    return it.ended.value() - it.started.value();
  }

  Usage Used() { return TrialBook::OpenForReading(folder_.path()).Used(); }

  TempDirectory folder_;
  HandClock clock_;
  SilentRunner runner_{clock_};
  EnsembleOptions options_;
};

constexpr double kSignsApart = 5;  // of a manager that has nothing to say
constexpr std::chrono::hours kNight{8};

TEST_F(Absence, CostsNothing) {
  RunUntilKilled();
  clock_.passed += kNight;
  options_.manager_time_limit = 50;
  EXPECT_EQ(RunStudy().waiting, 1);
  EXPECT_NEAR(SecondsOf(1), 100, kSignsApart + 1);
  EXPECT_NEAR(SecondsOf(2), 50, 2);
  EXPECT_NEAR(Used().wall_seconds, 150, kSignsApart + 2);
  EXPECT_NEAR(Used().node_seconds, 2 * 150, 2 * (kSignsApart + 2));
}

TEST_F(Absence, IsNoTimeOfATrialWithATimeLimit) {
  options_.trial_time_limit = 150;
  EXPECT_EQ(RunWithAbsence(kNight).failed, 1);
  EXPECT_NEAR(SecondsOf(2), 50, kSignsApart + 2) << "what was left of its time";
}

TEST_F(Absence, LeavesTheBudgetWhatNobodyUsed) {
  options_.budget.node_seconds = 2 * 150;
  EXPECT_TRUE(RunWithAbsence(kNight).out_of_time);
  EXPECT_NEAR(SecondsOf(2), 50, kSignsApart + 2) << "the lost attempt counts at once";
}

TEST_F(Absence, OfAJobThatGoesOnIsPaidFor) {
  runner_.queues_ = true;
  options_.budget.node_seconds = 2 * 200;
  EXPECT_TRUE(RunWithAbsence(std::chrono::seconds(60)).out_of_time);
  EXPECT_NEAR(SecondsOf(1), 200, 2) << "160 before anybody looked at it again";
}

TEST_F(Absence, DoesNotMoveTheEndOfAJob) {
  runner_.queues_ = true;
  runner_.ended_ = UnixSeconds(clock_.Now()) + 130;
  options_.budget.node_seconds = 2 * 140;
  RunWithAbsence(kNight);
  EXPECT_NEAR(SecondsOf(1), 130, 1e-3);
  EXPECT_EQ(Used().node_seconds, 2 * SecondsOf(1));
}

TEST_F(Absence, EndsWithinItWhateverTheOtherClockSays) {
  runner_.ended_ = UnixSeconds(clock_.Now()) - 5000;
  RunWithAbsence(kNight);
  EXPECT_EQ(SecondsOf(1), 0);
}

TEST_F(Absence, EndsBeforeTheNextManagerWhateverTheOtherClockSays) {
  runner_.ended_ = UnixSeconds(clock_.Now()) + 1e9;
  RunWithAbsence(std::chrono::seconds(20));
  EXPECT_NEAR(SecondsOf(1), 120, 2);
}

}  // namespace
}  // namespace slipway::ensemble
