// Programs that know how far they may go: they end at their rung with status 75, and go on from there.
#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "ensemble/manager/manager.h"
#include "tests/ensemble/hand_clock.h"
#include "tests/ensemble/manager/fake_runner.h"
#include "tests/support/temp_directory.h"

namespace slipway::ensemble {
namespace {

using testing::AnyOf;

constexpr int kWholeRung = 9;

/// Trains to its limit, and reports lr * epoch after each epoch.
class LimitedRunner : public FakeRunner {
 public:
  LimitedRunner()
      : FakeRunner([this](TrialNumber trial, int, const Json& parameters) {
          Script script;
          const double lr = parameters.at("lr").get<double>();
          while (epochs_[trial] < limits_[trial]) {
            const int epoch = ++epochs_[trial];
            script.metrics.push_back({0, 0, "accuracy", epoch, epoch, lr * epoch});
          }
          script.status.code = epochs_[trial] < kWholeRung ? 75 : 0;
          return script;
        }) {}

  ProcessIdentity Prepare(const TrialStart& start) override {
    limits_[start.trial] = static_cast<int>(start.limit.value_or(kWholeRung));
    return FakeRunner::Prepare(start);
  }

  std::map<TrialNumber, int> limits_;
  std::map<TrialNumber, int> epochs_;
};

EnsembleOptions RungOptions(std::int64_t trials) {
  EnsembleOptions options;
  options.objectives = {{"accuracy"}};
  options.trials = trials;
  options.parallel = 3;
  options.sampler = "random";
  options.space = ParseSpace(Json::parse(R"({"lr":{"log":[1e-4,1]}})"));
  return options;
}

EnsembleOptions Halving() {
  auto options = RungOptions(27);
  options.scheduler.type = "asha";
  options.scheduler.min = 1;
  options.scheduler.max = kWholeRung;
  options.scheduler.reduction = 3;
  return options;
}

EnsembleSummary RunStudy(const test::TempDirectory& folder, const EnsembleOptions& options, TrialRunner& runner) {
  auto book = TrialBook::OpenForWriting(folder.path());
  CountingObserver observer;
  return RunEnsemble(book, options, runner, observer);
}

TEST(ManagerRungs, ProgramsThatEndAtTheirLimitSpendNothingBeyondIt) {
  const test::TempDirectory folder;
  LimitedRunner runner;
  const auto summary = RunStudy(folder, Halving(), runner);
  EXPECT_EQ(summary.failed, 0);
  EXPECT_EQ(summary.waiting, 0);
  EXPECT_GE(summary.complete, 1);
  EXPECT_GT(summary.paused, 10);
  for (const auto& [trial, epochs] : runner.epochs_) EXPECT_THAT(epochs, AnyOf(1, 3, kWholeRung)) << trial;
  EXPECT_TRUE(runner.stopped_.empty()) << "nobody had to be told";
}

TEST(ManagerRungs, AResourceThatNobodyReportsIsToldOnceAndWhatIsReported) {
  const test::TempDirectory folder;
  auto options = Halving();
  options.resource = "epochs";
  auto book = TrialBook::OpenForWriting(folder.path());
  FakeRunner whole([](TrialNumber, int, const Json& parameters) {
    Script script = Reports("accuracy", parameters.at("lr").get<double>());
    script.metrics.back().epoch = 1;
    script.metrics.push_back({0, 0, "loss", 1, 1, 0.5});
    return script;
  });
  CountingObserver observer;
  EXPECT_EQ(RunEnsemble(book, options, whole, observer).complete, 27);
  EXPECT_THAT(observer.warnings,
              testing::ElementsAre("a trial is complete and never reported 'epochs' with 'accuracy', so scheduler asha "
                                   "ends no trial early; it reported: accuracy, loss, epoch"));
}

TEST(ManagerRungs, NothingIsToldWhereTheResourceIsReported) {
  const test::TempDirectory folder;
  LimitedRunner runner;
  auto book = TrialBook::OpenForWriting(folder.path());
  CountingObserver observer;
  RunEnsemble(book, Halving(), runner, observer);
  EXPECT_THAT(observer.warnings, testing::IsEmpty());
}

TEST(ManagerRungs, NothingIsToldOfASchedulerThatComparesWholeTrials) {
  const test::TempDirectory folder;
  auto options = RungOptions(2);
  options.repeats = 2;
  options.scheduler.type = "wilcoxon";
  FakeRunner runner([](TrialNumber, int, const Json&) { return Reports("accuracy", 0.5); });
  auto book = TrialBook::OpenForWriting(folder.path());
  CountingObserver observer;
  RunEnsemble(book, options, runner, observer);
  EXPECT_THAT(observer.warnings, testing::IsEmpty());
}

/// Each epoch takes ten seconds of a clock that only the test moves.
class TimedLimitedRunner : public LimitedRunner {
 public:
  std::vector<TrialEvent> Wait(std::chrono::nanoseconds limit) override {
    auto events = LimitedRunner::Wait(limit);
    const auto epochs = std::ranges::count_if(
        events, [](const TrialEvent& event) { return std::holds_alternative<MetricRecord>(event); });
    clock.Sleep(events.empty() ? limit : std::chrono::nanoseconds(std::chrono::seconds(10) * epochs));
    return events;
  }

  HandClock clock;
};

/// One trial at a time, more of them than the time is for.
EnsembleSummary RunForSeconds(double seconds, TimedLimitedRunner& runner) {
  const test::TempDirectory folder;
  auto options = Halving();
  options.trials = 1000;
  options.parallel = 1;
  options.budget.wall_seconds = seconds;
  auto book = TrialBook::OpenForWriting(folder.path());
  CountingObserver observer;
  return RunEnsemble(book, options, runner, observer, runner.clock);
}

/// By comparisons alone the first comes to nine epochs after 21 of all trials.
TEST(ManagerRungs, TheLeaderComesToItsEndBeforeTheTimeIsOver) {
  TimedLimitedRunner runner;
  const auto summary = RunForSeconds(200, runner);
  EXPECT_TRUE(summary.out_of_time);
  EXPECT_EQ(summary.complete, 1);
  EXPECT_GT(summary.begun, 3);
}

TEST(ManagerRungs, TheLeaderIsNamedWhereTheTimeWasTooShortForIt) {
  TimedLimitedRunner runner;
  const auto summary = RunForSeconds(75, runner);
  EXPECT_EQ(summary.complete, 0);
  ASSERT_TRUE(summary.leader);
  EXPECT_EQ(summary.leader->reached, 3);
  EXPECT_EQ(summary.leader->end, kWholeRung);
  EXPECT_EQ(runner.epochs_.at(summary.leader->trial), 3);
}

/// A trial that may go on at once is paused and promoted in the same round.
TEST(ManagerRungs, TheSameTrialsGoOnAsWithoutLimits) {
  const test::TempDirectory folder;
  LimitedRunner runner;
  const auto summary = RunStudy(folder, Halving(), runner);
  auto book = TrialBook::OpenForReading(folder.path());
  double best = 0;
  for (const auto& trial : book.Trials()) best = std::max(best, std::get<double>(trial.parameters.at(0).second));
  EXPECT_EQ(std::get<double>(summary.best->parameters.at(0).second), best) << "the order never changes";
  const auto attempts = book.Attempts(summary.best->number);
  EXPECT_EQ(attempts.size(), 3u);
  EXPECT_EQ(attempts.at(0).outcome, Outcome::kPaused);
  EXPECT_EQ(attempts.at(0).status, (ExitStatus{75, 0}));
  EXPECT_EQ(attempts.at(2).outcome, Outcome::kComplete);
}

/// What a scheduler wants of it is not forgotten because it asked first.
TEST(ManagerRungs, AWeakProgramThatAsksToGoOnIsPrunedAllTheSame) {
  const test::TempDirectory folder;
  auto options = RungOptions(8);
  options.parallel = 1;
  options.scheduler.type = "median";
  options.scheduler.startup = 3;
  FakeRunner runner([](TrialNumber trial, int attempt, const Json&) {
    Script script;
    for (int epoch = attempt; epoch <= (trial < 4 ? 3 : attempt); ++epoch) {
      script.metrics.push_back({0, 0, "accuracy", epoch, epoch, trial < 4 ? 0.5 : 0.1});
    }
    script.status.code = trial < 4 ? 0 : 75;
    return script;
  });
  const auto summary = RunStudy(folder, options, runner);
  EXPECT_EQ(summary.complete, 4);
  EXPECT_EQ(summary.pruned, 4);
  EXPECT_EQ(TrialBook::OpenForReading(folder.path()).Trials().at(4).attempts, 1);
}

/// A wrong one: nobody waits beyond the last rung, where nobody is promoted.
TEST(ManagerRungs, AProgramThatRunsToTheEndAndAsksToGoOnIsNotLeftPaused) {
  const test::TempDirectory folder;
  FakeRunner runner([](TrialNumber, int attempt, const Json&) {
    Script script;
    for (int epoch = 1; epoch <= (attempt == 1 ? kWholeRung : 0); ++epoch) {
      script.metrics.push_back({0, 0, "accuracy", epoch, epoch, 0.5});
    }
    script.status.code = 75;
    return script;
  });
  const auto summary = RunStudy(folder, Halving(), runner);
  EXPECT_EQ(summary.paused, 0);
  EXPECT_EQ(summary.failed, 27);
}

TEST(ManagerRungs, AProgramThatMovesOnMayAskToGoOnAsOftenAsItLikes) {
  const test::TempDirectory folder;
  FakeRunner runner([](TrialNumber, int attempt, const Json&) {
    Script script;
    script.metrics.push_back({0, 0, "accuracy", attempt, std::nullopt, 0.1 * attempt});
    script.status.code = attempt < 5 ? 75 : 0;
    return script;
  });
  EXPECT_EQ(RunStudy(folder, RungOptions(1), runner).complete, 1);
  const auto trial = TrialBook::OpenForReading(folder.path()).Trials().at(0);
  EXPECT_EQ(trial.attempts, 5);
  EXPECT_EQ(trial.failures, 0);
  EXPECT_DOUBLE_EQ(*trial.objective, 0.5);
}

TEST(ManagerRungs, AProgramThatAsksWithoutMovingOnHasFailed) {
  const test::TempDirectory folder;
  FakeRunner runner([](TrialNumber, int, const Json&) {
    auto script = Reports("accuracy", 0.5);
    script.status.code = 75;
    return script;
  });
  EXPECT_EQ(RunStudy(folder, RungOptions(1), runner).failed, 1);
  EXPECT_EQ(TrialBook::OpenForReading(folder.path()).Trials().at(0).attempts, 2);
}

/// As a program whose output has epochs, and starts from the beginning each time.
TEST(ManagerRungs, ACountedStepIsNoMoveOn) {
  const test::TempDirectory folder;
  FakeRunner runner([](TrialNumber, int attempt, const Json&) {
    Script script;
    script.metrics.push_back({0, 0, "accuracy", attempt, 1.0, 0.5});
    script.status.code = attempt < 9 ? 75 : 0;
    return script;
  });
  auto options = RungOptions(1);
  options.steps = StepSource::kCount;
  EXPECT_EQ(RunStudy(folder, options, runner).failed, 1);
  EXPECT_EQ(TrialBook::OpenForReading(folder.path()).Trials().at(0).attempts, 2);
}

}  // namespace
}  // namespace slipway::ensemble
