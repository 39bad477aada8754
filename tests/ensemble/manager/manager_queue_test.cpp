// Trials that wait in the queue of a batch system.

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "tests/ensemble/manager/fake_runner.h"
#include "tests/ensemble/manager/manager_support.h"
#include "tests/support/temp_directory.h"

namespace slipway::ensemble {
namespace {

using test::TempDirectory;
using testing::ElementsAre;

TEST(Ensemble, CountsTheTimeOfTrialsFromWhenTheirQueueLetsThemRun) {
  TempDirectory folder;
  FakeRunner runner(ReportsLr);
  runner.queues_ = true;
  runner.began_ = UnixSeconds(SystemClock().Now()) - 1800;
  auto options = ManagerOptions(kLr, 2, 1);
  options.need.nodes = 4;
  EXPECT_EQ(RunByManager(folder, options, runner).complete, 2);
  auto book = TrialBook::OpenForReading(folder.path());
  EXPECT_EQ(book.Trials()[0].started, runner.began_);
  EXPECT_EQ(book.Attempts(0)[0].started, runner.began_);
  EXPECT_NEAR(book.Used().node_seconds, 2 * 4 * 1800.0, 2 * 4 * 60.0);
}

/// Looks into the book while all that was released waits.
class QueueWatcher : public FakeRunner {
 public:
  QueueWatcher(const TempDirectory& folder, Play play) : FakeRunner(std::move(play)), folder_(folder) {
    queues_ = true;
  }

  std::vector<TrialEvent> Wait(std::chrono::nanoseconds limit) override {
    auto book = TrialBook::OpenForReading(folder_.path());
    for (const auto& left : book.OpenAttempts()) attempts_.push_back(left);
    for (const auto& trial : book.Trials()) trials_.push_back(trial);
    return FakeRunner::Wait(limit);
  }

  const TempDirectory& folder_;
  std::vector<AttemptRecord> attempts_;
  std::vector<TrialRecord> trials_;
};

TEST(Ensemble, WhatWaitsInAQueueHasNotStarted) {
  TempDirectory folder;
  QueueWatcher runner(folder, ReportsLr);
  auto book = TrialBook::OpenForWriting(folder.path());
  CountingObserver observer;
  EXPECT_EQ(RunEnsemble(book, ManagerOptions(kLr, 1, 1), runner, observer).complete, 1);
  ASSERT_EQ(runner.attempts_.size(), 1u);
  EXPECT_EQ(runner.attempts_[0].state, TrialState::kWaiting);
  EXPECT_EQ(runner.attempts_[0].started, std::nullopt);
  EXPECT_TRUE(runner.attempts_[0].process) << "the next manager looks for its job";
  ASSERT_EQ(runner.trials_.size(), 1u);
  EXPECT_EQ(runner.trials_[0].state, TrialState::kWaiting);
  EXPECT_EQ(runner.trials_[0].started, std::nullopt);
  EXPECT_EQ(runner.trials_[0].reason, "") << "the state says it";
  EXPECT_EQ(observer.waits, 1);
  EXPECT_EQ(observer.started, 1);
  EXPECT_EQ(book.Attempts(0)[0].state, TrialState::kComplete);
  EXPECT_EQ(book.Trials()[0].reason, "");
}

/// The drawing in records.h.
TEST(TrialState, IsClaimedWaitsRunsAndIsClaimedAgain) {
  TrialRecord trial;
  trial.reason = "exit status 3";
  trial.ended = 7;
  BecomeClaimed(trial);
  EXPECT_EQ(trial.state, TrialState::kClaimed);
  EXPECT_EQ(trial.attempts, 1);
  EXPECT_EQ(trial.reason, "");
  EXPECT_EQ(trial.ended, std::nullopt);
  BecomeWaiting(trial);
  EXPECT_EQ(trial.state, TrialState::kWaiting);
  EXPECT_EQ(trial.started, std::nullopt) << "its time does not count";
  BecomeRunning(trial, 9);
  EXPECT_EQ(trial.state, TrialState::kRunning);
  EXPECT_EQ(trial.started, 9);
  BecomeClaimed(trial);
  EXPECT_EQ(trial.attempts, 2);
  EXPECT_EQ(trial.started, std::nullopt);
}

TEST(TrialState, HasAWordThatIsRead) {
  for (const auto& word : AllWords<TrialState>()) {
    ASSERT_TRUE(FromWord<TrialState>(word)) << word;
    EXPECT_EQ(WordOf(*FromWord<TrialState>(word)), word);
  }
  EXPECT_EQ(WordOf(TrialState::kWaiting), "waiting");
  EXPECT_FALSE(IsFinal(TrialState::kWaiting));
}

TEST(Ensemble, TimeInAQueueIsNobodys) {
  TempDirectory folder;
  FakeRunner runner([](TrialNumber, int, const Json&) {
    Script script;
    script.runs_until_stopped = true;
    script.leaves_queue = false;
    script.status = {1, 0};
    return script;
  });
  runner.queues_ = true;
  auto options = ManagerOptions(kLr, 2, 2);
  options.manager_time_limit = 0.1;
  options.trial_time_limit = 0.01;
  const auto summary = RunByManager(folder, options, runner);
  EXPECT_EQ(summary.waiting, 2) << "they had no time to use up";
  EXPECT_THAT(runner.stopped_,
              testing::Each(testing::Field(&std::pair<TrialNumber, StopReason>::second, StopReason::kTimeLimit)));
  auto book = TrialBook::OpenForReading(folder.path());
  EXPECT_EQ(book.Used().node_seconds, 0);
  EXPECT_EQ(book.Attempts(0)[0].started, std::nullopt);
}

/// What an earlier manager left that had submitted a job.
void WriteWaiting(const TempDirectory& folder, const EnsembleOptions& options, double since) {
  auto book = TrialBook::OpenForWriting(folder.path());
  OpenStudy study(book, options, since);
  Changes changes;
  changes.time = since;
  study.Ask(changes);
  changes.claims.push_back({0, 1, {}, 1});
  book.Write(changes);
  Changes queued;
  queued.time = since;
  queued.queued.push_back({0, 1});
  book.Write(queued);
}

TEST(Ensemble, ATrialThatWaitsForAnEarlierManagerIsFollowed) {
  TempDirectory folder;
  const auto options = ManagerOptions(kLr, 1, 1);
  const double now = UnixSeconds(SystemClock().Now());
  WriteWaiting(folder, options, now - 3600);
  QueueWatcher runner(folder, ReportsLr);
  runner.go_on_[0] = Reports("accuracy", 0.75);
  runner.began_ = now - 60;
  auto book = TrialBook::OpenForWriting(folder.path());
  CountingObserver observer;
  EXPECT_EQ(RunEnsemble(book, options, runner, observer).complete, 1);
  EXPECT_TRUE(runner.released_.empty()) << "its job is there";
  ASSERT_EQ(runner.attempts_.size(), 1u);
  EXPECT_EQ(runner.attempts_[0].state, TrialState::kWaiting);
  EXPECT_EQ(runner.attempts_[0].started, std::nullopt);
  EXPECT_EQ(runner.trials_[0].state, TrialState::kWaiting);
  EXPECT_EQ(runner.trials_[0].started, std::nullopt);
  EXPECT_EQ(book.Trials()[0].objective, 0.75);
  EXPECT_EQ(book.Attempts(0).size(), 1u);
  EXPECT_EQ(book.Attempts(0)[0].started, runner.began_);
  EXPECT_NEAR(book.Used().node_seconds, 60, 30);
}

TEST(Ensemble, ATrialThatWaitedForAnEarlierManagerHasUsedNothing) {
  TempDirectory folder;
  const auto options = ManagerOptions(kLr, 1, 1);
  WriteWaiting(folder, options, UnixSeconds(SystemClock().Now()) - 3600);
  FakeRunner runner(ReportsLr);
  runner.queues_ = true;
  auto cancelled = Exits({1, 0}, "job 17 was cancelled");
  cancelled.cause = OutsideCause::kCancelled;
  cancelled.leaves_queue = false;
  runner.go_on_[0] = cancelled;
  EXPECT_EQ(RunByManager(folder, options, runner).cancelled, 1);
  EXPECT_EQ(TrialBook::OpenForReading(folder.path()).Used().node_seconds, 0);
}

TEST(Ensemble, ATrialWhoseJobIsGoneFromTheQueueRunsAgain) {
  TempDirectory folder;
  const auto options = ManagerOptions(kLr, 1, 1);
  WriteWaiting(folder, options, UnixSeconds(SystemClock().Now()) - 3600);
  FakeRunner runner(ReportsLr);
  runner.queues_ = true;
  EXPECT_EQ(RunByManager(folder, options, runner).complete, 1);
  EXPECT_THAT(runner.released_, ElementsAre(0));
}

TEST(Ensemble, AJobThatIsCancelledInTheQueueIsNoFailure) {
  TempDirectory folder;
  FakeRunner runner([](TrialNumber trial, int attempt, const Json& parameters) {
    if (trial != 0) return ReportsLr(trial, attempt, parameters);
    auto script = Exits({1, 0}, "job 17 was cancelled");
    script.cause = OutsideCause::kCancelled;
    script.leaves_queue = false;
    return script;
  });
  runner.queues_ = true;
  auto options = ManagerOptions(kLr, 2, 1);
  options.max_failures = 0;
  const auto summary = RunByManager(folder, options, runner);
  EXPECT_EQ(summary.failed, 0);
  EXPECT_EQ(summary.cancelled, 1);
  EXPECT_EQ(summary.complete, 1);
  const auto trials = TrialsIn(folder);
  EXPECT_EQ(trials[0].state, TrialState::kCancelled);
  EXPECT_EQ(trials[0].reason, "cancelled before it began: job 17 was cancelled");
  EXPECT_EQ(trials[0].failures, 0);
}

}  // namespace
}  // namespace slipway::ensemble
