#include "ensemble/manager/manager.h"

#include <gmock/gmock.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "core/error.h"
#include "ensemble/study/open_study.h"
#include "tests/ensemble/manager/fake_runner.h"
#include "tests/ensemble/manager/manager_support.h"
#include "tests/support/temp_directory.h"

namespace slipway::ensemble {
namespace {

using test::TempDirectory;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Ensemble, RunsEveryTrialOnceAndFindsTheBest) {
  TempDirectory folder;
  FakeRunner runner(ReportsLr);
  const auto summary = RunByManager(folder, ManagerOptions(kLr, 16, 3), runner);
  EXPECT_EQ(summary.complete, 16);
  EXPECT_EQ(runner.released_.size(), 16u);
  EXPECT_LE(runner.most_at_once_, 3u);
  const auto trials = TrialsIn(folder);
  double best = 0;
  for (const auto& trial : trials) best = std::max(best, *trial.objective);
  EXPECT_EQ(summary.best->objective, best);
  EXPECT_FALSE(summary.interrupted);
}

TEST(Ensemble, TheGoalMayBeToMinimize) {
  TempDirectory folder;
  FakeRunner runner(ReportsLr);
  auto options = ManagerOptions(R"({"lr":{"choice":[0.5,0.25,1.0]}})", 3);
  options.objectives[0].goal = Goal::kMinimize;
  EXPECT_EQ(RunByManager(folder, options, runner).best->objective, 0.25);
}

TEST(Ensemble, EndsEarlyWhenTheGridIsUsedUp) {
  TempDirectory folder;
  FakeRunner runner(ReportsLr);
  const auto summary = RunByManager(folder, ManagerOptions(R"({"lr":{"choice":[0.1,0.2,0.3]}})", 10), runner);
  EXPECT_EQ(summary.complete, 3);
  EXPECT_TRUE(summary.exhausted);
}

TEST(Ensemble, TakesTheValueOfTheHighestStep) {
  TempDirectory folder;
  FakeRunner runner([](TrialNumber, int, const Json&) {
    Script script;
    script.metrics = {{0, 0, "accuracy", 2, 1.0, 0.7}, {0, 0, "accuracy", 1, 0.5, 0.9}, {0, 0, "loss", 3, 1.5, 0.1}};
    return script;
  });
  EXPECT_EQ(RunByManager(folder, ManagerOptions(kLr, 1), runner).best->objective, 0.7);
}

TEST(Ensemble, AFailedTrialIsARowWithItsReasonAndTheOthersGoOn) {
  TempDirectory folder;
  FakeRunner runner([](TrialNumber trial, int attempt, const Json& parameters) {
    if (trial == 1) return Exits({3, 0}, "rank 0: bad");
    if (trial == 2) return Script{};
    if (trial == 3) return Reports("accuracy", std::nan(""));
    if (trial == 4) {
      Script script;
      script.can_start = false;
      return script;
    }
    return ReportsLr(trial, attempt, parameters);
  });
  const auto summary = RunByManager(folder, ManagerOptions(kLr, 6), runner);
  EXPECT_EQ(summary.failed, 4);
  EXPECT_EQ(summary.complete, 2);
  EXPECT_FALSE(summary.too_many_failures);
  const auto trials = TrialsIn(folder);
  EXPECT_EQ(trials[1].reason, "exit status 3: rank 0: bad");
  EXPECT_EQ(trials[2].reason, "reported no 'accuracy'");
  EXPECT_EQ(trials[3].reason, "reported accuracy = NaN");
  EXPECT_EQ(trials[4].reason, "could not be started, as the attempt before: no such program");
}

TEST(Ensemble, AStartThatFailsIsTriedOnceMoreAndCostsNoRetry) {
  TempDirectory folder;
  FakeRunner runner([](TrialNumber trial, int attempt, const Json& parameters) {
    auto script = ReportsLr(trial, attempt, parameters);
    script.can_start = attempt % 2 == 0;  // each start fails once
    if (attempt == 2) script.status = {3, 0};
    return script;
  });
  auto options = ManagerOptions(kLr, 3);
  options.retries = 1;
  EXPECT_EQ(RunByManager(folder, options, runner).complete, 3);
  auto book = TrialBook::OpenForReading(folder.path());
  for (const auto& trial : book.Trials()) {
    EXPECT_EQ(trial.failures, 1) << "only the one that ran and failed";
    const auto attempts = book.Attempts(trial.number);
    ASSERT_EQ(attempts.size(), 4u);
    EXPECT_EQ(attempts[0].outcome, Outcome::kNotStarted);
    EXPECT_EQ(attempts[0].reason, "could not be started and is tried once more: no such program");
    EXPECT_EQ(attempts[1].outcome, Outcome::kFailed);
    EXPECT_EQ(attempts[2].outcome, Outcome::kNotStarted);
    EXPECT_EQ(attempts[3].outcome, Outcome::kComplete);
  }
}

/// The runner may find out later that nothing of the program has run.
TEST(Ensemble, AStartThatFailedLaterIsTriedOnceMoreToo) {
  TempDirectory folder;
  FakeRunner runner([](TrialNumber trial, int attempt, const Json& parameters) {
    if (attempt > 1) return ReportsLr(trial, attempt, parameters);
    auto script = Exits({3, 0}, "only 0 of 2 ranks started");
    script.cause = OutsideCause::kNotStarted;
    return script;
  });
  EXPECT_EQ(RunByManager(folder, ManagerOptions(kLr, 2), runner).complete, 2);
  const auto attempts = TrialBook::OpenForReading(folder.path()).Attempts(0);
  ASSERT_EQ(attempts.size(), 2u);
  EXPECT_THAT(attempts[0].reason, HasSubstr("tried once more: only 0 of 2 ranks started"));
}

/// All its attempts hang on one process.
class KeptRunner : public FakeRunner {
 public:
  explicit KeptRunner(Play play) : FakeRunner(std::move(play)) { supervisor_ = kKeeper; }
  ProcessIdentity Prepare(const TrialStart& start) override {
    FakeRunner::Prepare(start);
    auto book = TrialBook::OpenForReading(folder_);
    seen_ += book.Attempts(start.trial).back().process == kKeeper ? 1 : 0;
    return start.trial == 3 ? ProcessIdentity{78, 1, "boot"} : kKeeper;
  }

  static inline const ProcessIdentity kKeeper{77, 1, "boot"};
  std::filesystem::path folder_;
  int seen_ = 0;
};

TEST(Ensemble, AProcessThatIsKnownBeforeStandsInTheClaim) {
  TempDirectory folder;
  KeptRunner runner(ReportsLr);
  runner.folder_ = folder.path();
  EXPECT_EQ(RunByManager(folder, ManagerOptions(kLr, 4), runner).complete, 4);
  EXPECT_EQ(runner.seen_, 4);
  auto book = TrialBook::OpenForReading(folder.path());
  for (const auto& trial : book.Trials()) {
    const auto process = book.Attempts(trial.number).at(0).process;
    EXPECT_EQ(process->pid, trial.number == 3 ? 78 : 77) << "the one it was prepared by in the end";
    EXPECT_TRUE(trial.started && trial.ended && *trial.started <= *trial.ended);
  }
}

TEST(Ensemble, RetriesAFailedTrialWithTheSameParameters) {
  TempDirectory folder;
  std::vector<std::string> asked;
  FakeRunner runner([&](TrialNumber trial, int attempt, const Json& parameters) {
    if (trial == 0) asked.push_back(parameters.dump());
    return trial == 0 && attempt < 3 ? Exits({0, 11}) : ReportsLr(trial, attempt, parameters);
  });
  auto options = ManagerOptions(kLr, 2);
  options.retries = 2;
  EXPECT_EQ(RunByManager(folder, options, runner).complete, 2);
  EXPECT_EQ(asked, std::vector<std::string>(3, asked[0]));
  const auto attempts = TrialBook::OpenForReading(folder.path()).Attempts(0);
  ASSERT_EQ(attempts.size(), 3u);
  EXPECT_EQ(attempts[1].state, TrialState::kFailed);
  EXPECT_EQ(attempts[1].status->signal, 11);
  EXPECT_EQ(attempts[2].state, TrialState::kComplete);
}

TEST(Ensemble, StopsPastTheAllowedFailures) {
  TempDirectory folder;
  FakeRunner runner([](TrialNumber, int, const Json&) { return Exits({1, 0}); });
  auto options = ManagerOptions(kLr, 100, 1);
  options.max_failures = 2;
  const auto summary = RunByManager(folder, options, runner);
  EXPECT_TRUE(summary.too_many_failures);
  EXPECT_EQ(summary.failed, 3);
}

TEST(Ensemble, AStoppedTrialWaitsAndAResumeRunsItAgain) {
  TempDirectory folder;
  FakeRunner runner([](TrialNumber trial, int attempt, const Json& parameters) {
    Script script = ReportsLr(trial, attempt, parameters);
    script.runs_until_stopped = trial == 3 && attempt == 1;
    return script;
  });
  runner.stop_after_ = 4;
  const auto summary = RunByManager(folder, ManagerOptions(kLr, 8), runner);
  EXPECT_TRUE(summary.interrupted);
  EXPECT_THAT(runner.stopped_, testing::Contains(std::pair(TrialNumber{3}, StopReason::kCancelled)));
  EXPECT_EQ(TrialsIn(folder)[3].state, TrialState::kQueued);
  EXPECT_GE(summary.waiting, 1);
  const auto resumed = RunByManager(folder, ManagerOptions(kLr, 8), runner);
  EXPECT_EQ(resumed.complete, 8);
  EXPECT_EQ(TrialsIn(folder)[3].attempts, 2);
}

TEST(Ensemble, AResumedStudyAsksWhatAnUninterruptedOneAsks) {
  for (const char* sampler : {"random", "grid"}) {
    TempDirectory whole, parts;
    auto options = ManagerOptions(R"({"lr":{"log":[1e-4,1]},"n":{"int":[1,4]}})", 12);
    options.sampler = sampler;
    FakeRunner once(ReportsLr), twice(ReportsLr), rest(ReportsLr);
    RunByManager(whole, options, once);
    twice.stop_after_ = 5;
    twice.latest_first_ = true;
    RunByManager(parts, options, twice);
    RunByManager(parts, options, rest);
    const auto a = TrialsIn(whole), b = TrialsIn(parts);
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(a[i].parameters, b[i].parameters) << sampler << " trial " << i;
      EXPECT_EQ(a[i].objective, b[i].objective);
    }
  }
}

TEST(Ensemble, ARaisedBudgetAddsTrials) {
  TempDirectory folder;
  FakeRunner runner(ReportsLr);
  EXPECT_EQ(RunByManager(folder, ManagerOptions(kLr, 3), runner).complete, 3);
  EXPECT_EQ(RunByManager(folder, ManagerOptions(kLr, 5), runner).complete, 5);
  EXPECT_EQ(runner.released_.size(), 5u);
}

TEST(Ensemble, RefusesToMixTwoExperimentsInOneBook) {
  TempDirectory folder;
  FakeRunner runner(ReportsLr);
  RunByManager(folder, ManagerOptions(kLr, 2), runner);
  auto changed = ManagerOptions(kLr, 2);
  changed.seed = 9;
  try {
    RunByManager(folder, changed, runner);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_THAT(error.what(), HasSubstr("started with seed 1, but the spec now says 9"));
  }
}

TEST(Ensemble, EndsOrphansAndTakesOverWhatTheRunnerStillKnows) {
  TempDirectory folder;
  {
    auto book = TrialBook::OpenForWriting(folder.path());
    FakeRunner runner(ReportsLr);
    runner.stop_after_ = 1;
    CountingObserver observer;
    RunEnsemble(book, ManagerOptions(kLr, 3, 1), runner, observer);
    // As a manager leaves it that is killed: trial 1 prepared and running, trial 2 running.
    Changes left;
    left.trials.resize(book.Trials().size() == 1 ? 2 : 0);
    ASSERT_EQ(left.trials.size(), 2u);
    for (int i = 0; i < 2; ++i) {
      left.trials[i].number = i + 1;
      left.trials[i].parameters = {{"lr", 0.5}};
      left.claims.push_back({i + 1, 1});
      left.starts.push_back({i + 1, 1, ProcessIdentity{50 + i, 3, "boot"}});
    }
    book.Write(left);
  }
  FakeRunner runner(ReportsLr);
  runner.recovered_[1] = {MetricRecord{1, 1, "accuracy", 1, {}, 0.75}, TrialEnded{1, 1, {}, ""}};
  const auto summary = RunByManager(folder, ManagerOptions(kLr, 3, 1), runner);
  EXPECT_EQ(runner.orphans_.size(), 2u);
  EXPECT_EQ(summary.complete, 3);
  EXPECT_THAT(runner.released_, testing::Not(testing::Contains(1)));
  auto book = TrialBook::OpenForReading(folder.path());
  EXPECT_EQ(book.Trials()[1].objective, 0.75);
  const auto attempts = book.Attempts(2);
  ASSERT_EQ(attempts.size(), 2u);
  EXPECT_EQ(attempts[0].state, TrialState::kLost);
  EXPECT_EQ(book.Trials()[2].failures, 0);
}

TEST(Ensemble, FollowsAttemptsThatGoOnWithoutTheirManager) {
  TempDirectory folder;
  {
    auto book = TrialBook::OpenForWriting(folder.path());
    FakeRunner runner(ReportsLr);
    runner.stop_after_ = 1;
    CountingObserver observer;
    RunEnsemble(book, ManagerOptions(kLr, 3, 1), runner, observer);
    Changes left;
    left.trials.resize(2);
    for (int i = 0; i < 2; ++i) {
      left.trials[i].number = i + 1;
      left.trials[i].parameters = {{"lr", 0.5}};
      left.claims.push_back({i + 1, 1});
      left.queued.push_back({i + 1, 1});
    }
    book.Write(left);
    Changes asked;
    asked.stops.push_back({2, 1, StopReason::kCancelled});
    book.Write(asked);
  }
  FakeRunner runner(ReportsLr);
  runner.go_on_[1] = Reports("accuracy", 0.75);
  runner.go_on_[2] = Exits({15, 0});
  const auto summary = RunByManager(folder, ManagerOptions(kLr, 3, 2), runner);
  EXPECT_EQ(summary.complete, 3);
  EXPECT_THAT(runner.released_, testing::Not(testing::Contains(1)));
  EXPECT_THAT(runner.stopped_, testing::ElementsAre(testing::Pair(2, StopReason::kCancelled)));
  auto book = TrialBook::OpenForReading(folder.path());
  EXPECT_EQ(book.Trials()[1].objective, 0.75);
  EXPECT_EQ(book.Attempts(1).size(), 1u);
  EXPECT_EQ(book.Attempts(2).size(), 2u);
}

TEST(Ensemble, RefusesImpossibleOptions) {
  TempDirectory folder;
  FakeRunner runner(ReportsLr);
  EXPECT_THROW(RunByManager(folder, ManagerOptions(kLr, 0), runner), Error);
  EXPECT_THROW(RunByManager(folder, ManagerOptions(kLr, 1, 0), runner), Error);
  auto nameless = ManagerOptions(kLr, 1);
  nameless.objectives[0].metric.clear();
  EXPECT_THROW(RunByManager(folder, nameless, runner), Error);
}

TEST(Ensemble, PassesOnWhatHappensAfterItIsDurable) {
  TempDirectory folder;
  auto book = TrialBook::OpenForWriting(folder.path());
  FakeRunner runner(ReportsLr);
  CountingObserver observer;
  const auto summary = RunEnsemble(book, ManagerOptions(kLr, 5), runner, observer);
  EXPECT_EQ(observer.started, 5);
  EXPECT_EQ(observer.metrics, 5);
  EXPECT_EQ(observer.ended, 5);
  EXPECT_EQ(observer.best_objective, summary.best->objective);
}

}  // namespace
}  // namespace slipway::ensemble
