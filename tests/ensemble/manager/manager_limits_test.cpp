// What ends, places, repeats and pauses trials, on a clock that only the test moves.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "ensemble/manager/manager.h"
#include "ensemble/manager/requests.h"
#include "tests/ensemble/hand_clock.h"
#include "tests/ensemble/manager/fake_runner.h"
#include "tests/support/temp_directory.h"

namespace slipway::ensemble {
namespace {

using test::TempDirectory;
using testing::ElementsAre;
using testing::HasSubstr;

/// Where nothing happens, time passes.
class TimedRunner : public FakeRunner {
 public:
  TimedRunner(HandClock& clock, Play play) : FakeRunner(std::move(play)), clock_(clock) {}

  ProcessIdentity Prepare(const TrialStart& start) override {
    places_.push_back(start.place);
    repeats_.push_back(start.repeat);
    return FakeRunner::Prepare(start);
  }

  std::vector<TrialEvent> Wait(std::chrono::nanoseconds limit) override {
    auto events = FakeRunner::Wait(limit);
    if (lost_after_.first > 0 && released_.size() >= lost_after_.first) {
      events.push_back(NodeLost{std::exchange(lost_after_, {}).second});
    }
    clock_.Sleep(events.empty() ? limit : std::chrono::nanoseconds(each_takes_));
    return events;
  }

  HandClock& clock_;
  std::chrono::seconds each_takes_{0};
  std::pair<std::size_t, std::string> lost_after_;  // this node, once so many were released
  std::vector<std::vector<AllocatedNode>> places_;
  std::vector<int> repeats_;
};

EnsembleOptions LimitsOptions(std::int64_t trials, int parallel = 1) {
  EnsembleOptions options;
  options.objectives = {{"accuracy"}};
  options.trials = trials;
  options.parallel = parallel;
  options.sampler = "random";
  options.space = ParseSpace(Json::parse(R"({"lr":{"log":[1e-4,1]}})"));
  return options;
}

Script ReportsLrAtOnce(TrialNumber, int, const Json& parameters) {
  return Reports("accuracy", parameters.at("lr").get<double>());
}

Script RunsUntilStopped() {
  Script script;
  script.runs_until_stopped = true;
  return script;
}

EnsembleSummary RunStudy(const TempDirectory& folder, const EnsembleOptions& options, TimedRunner& runner) {
  auto book = TrialBook::OpenForWriting(folder.path());
  CountingObserver observer;
  return RunEnsemble(book, options, runner, observer, runner.clock_);
}

std::vector<TrialRecord> TrialsInBook(const TempDirectory& folder) {
  return TrialBook::OpenForReading(folder.path()).Trials();
}

TEST(TrialTimeLimit, EndsATrialForGood) {
  TempDirectory folder;
  HandClock clock;
  TimedRunner runner(clock, [](TrialNumber trial, int attempt, const Json& parameters) {
    return trial == 0 ? RunsUntilStopped() : ReportsLrAtOnce(trial, attempt, parameters);
  });
  auto options = LimitsOptions(2);
  options.trial_time_limit = 60;
  options.retries = 3;
  const auto summary = RunStudy(folder, options, runner);
  EXPECT_EQ(summary.failed, 1);
  EXPECT_EQ(summary.complete, 1);
  EXPECT_THAT(runner.stopped_, ElementsAre(std::pair(TrialNumber{0}, StopReason::kTrialTimeLimit)));
  const auto attempts = TrialBook::OpenForReading(folder.path()).Attempts(0);
  ASSERT_EQ(attempts.size(), 1u);
  EXPECT_EQ(attempts[0].outcome, Outcome::kTimedOut);
  EXPECT_EQ(clock.passed / std::chrono::seconds(1), 60);
}

TEST(TrialTimeLimit, DoesNotHearTheClockOfTheDay) {
  TempDirectory folder;
  HandClock clock;
  TimedRunner runner(clock, [&](TrialNumber trial, int attempt, const Json& parameters) {
    clock.jump += std::chrono::hours(trial % 2 == 0 ? 1000 : -2000);
    return ReportsLrAtOnce(trial, attempt, parameters);
  });
  auto options = LimitsOptions(6);
  options.trial_time_limit = 60;
  options.budget.wall_seconds = 60;
  EXPECT_EQ(RunStudy(folder, options, runner).complete, 6);
}

TEST(Budget, OfTimeEndsTheEnsembleAndLeavesTheTrialForAResume) {
  TempDirectory folder;
  HandClock clock;
  TimedRunner runner(clock, [](TrialNumber trial, int attempt, const Json& parameters) {
    return trial == 1 && attempt == 1 ? RunsUntilStopped() : ReportsLrAtOnce(trial, attempt, parameters);
  });
  auto options = LimitsOptions(3);
  options.budget.wall_seconds = 100;
  const auto summary = RunStudy(folder, options, runner);
  EXPECT_TRUE(summary.out_of_time);
  EXPECT_EQ(summary.complete, 1);
  EXPECT_EQ(summary.waiting, 1);
  EXPECT_THAT(runner.stopped_, ElementsAre(std::pair(TrialNumber{1}, StopReason::kTimeLimit)));
  const auto again = RunStudy(folder, options, runner);
  EXPECT_TRUE(again.out_of_time) << "what the first manager used counts";
  EXPECT_EQ(again.complete, 1);
  options.budget.wall_seconds = 200;
  EXPECT_EQ(RunStudy(folder, options, runner).complete, 3);
}

TEST(Budget, OfNodeSecondsCountsEveryNode) {
  TempDirectory folder;
  HandClock clock;
  TimedRunner runner(clock, ReportsLrAtOnce);
  runner.each_takes_ = std::chrono::seconds(10);
  auto options = LimitsOptions(100);
  options.nodes = {{"a", {0}, {}}, {"b", {0}, {}}};
  options.need = {2, 1, 0};
  options.budget.node_seconds = 100;
  const auto summary = RunStudy(folder, options, runner);
  EXPECT_TRUE(summary.out_of_time);
  EXPECT_EQ(summary.complete, 5) << "each takes two nodes for ten seconds";
}

TEST(Budget, OfThisRunStopsWhatRuns) {
  TempDirectory folder;
  HandClock clock;
  TimedRunner runner(clock, [](TrialNumber, int, const Json&) { return RunsUntilStopped(); });
  auto options = LimitsOptions(3, 2);
  options.manager_time_limit = 30;
  const auto summary = RunStudy(folder, options, runner);
  EXPECT_TRUE(summary.out_of_time);
  EXPECT_EQ(summary.waiting, 2);
  EXPECT_EQ(runner.stopped_.size(), 2u);
}

TEST(Places, AreGivenToTrialsAndTakenBack) {
  TempDirectory folder;
  HandClock clock;
  TimedRunner runner(clock, ReportsLrAtOnce);
  auto options = LimitsOptions(5, 8);
  options.nodes = {{"here", {0, 1, 2, 3}, {}}};
  options.need = {1, 2, 0};
  EXPECT_EQ(RunStudy(folder, options, runner).complete, 5);
  EXPECT_EQ(runner.most_at_once_, 2u);
  ASSERT_EQ(runner.places_.size(), 5u);
  for (const auto& place : runner.places_) EXPECT_EQ(place.at(0).cores.size(), 2u);
  EXPECT_EQ(TrialBook::OpenForReading(folder.path()).Attempts(0).at(0).place, "here:0,1");
}

TEST(Places, ThatAreGoneLeaveTrialsWaiting) {
  TempDirectory folder;
  HandClock clock;
  TimedRunner runner(clock, ReportsLrAtOnce);
  auto options = LimitsOptions(3, 2);
  options.nodes = {{"large", {0, 1, 2, 3}, {}}, {"small", {0}, {}}, {"tiny", {0}, {}}};
  options.need = {1, 2, 0};
  runner.lost_after_ = {1, "large"};
  const auto summary = RunStudy(folder, options, runner);
  EXPECT_TRUE(summary.out_of_nodes) << "two nodes are left, and no trial fits on one";
  EXPECT_LT(summary.complete, 3);
  options.nodes.erase(options.nodes.begin());
  EXPECT_TRUE(RunStudy(folder, options, runner).out_of_nodes) << "nor from the beginning";
  options.nodes = {{"other", {0, 1}, {}}};
  const auto resumed = RunStudy(folder, options, runner);
  EXPECT_EQ(resumed.complete, 3);
  EXPECT_FALSE(resumed.out_of_nodes);
}

TEST(Places, ThatAreLostAtTheEndAreNotMissed) {
  TempDirectory folder;
  HandClock clock;
  TimedRunner runner(clock, ReportsLrAtOnce);
  auto options = LimitsOptions(1);
  options.nodes = {{"only", {0, 1}, {}}};
  options.need = {1, 2, 0};
  runner.lost_after_ = {1, "only"};
  const auto summary = RunStudy(folder, options, runner);
  EXPECT_EQ(summary.complete, 1);
  EXPECT_FALSE(summary.out_of_nodes);
}

TEST(Repeats, RunEachConfigurationSeveralTimesAndRankTheMean) {
  TempDirectory folder;
  HandClock clock;
  TimedRunner runner(clock, [](TrialNumber trial, int, const Json&) {
    return trial == 5 ? Exits({3, 0}) : Reports("accuracy", trial < 3 ? 0.1 * static_cast<double>(trial) : 0.4);
  });
  auto options = LimitsOptions(2, 2);
  options.repeats = 3;
  const auto summary = RunStudy(folder, options, runner);
  EXPECT_EQ(summary.complete, 5);
  EXPECT_EQ(summary.best->number, 3);
  EXPECT_EQ(summary.best->objective, 0.4);
  EXPECT_THAT(runner.repeats_, ElementsAre(0, 1, 2, 0, 1, 2));
  const auto trials = TrialsInBook(folder);
  ASSERT_EQ(trials.size(), 6u);
  EXPECT_EQ(trials[0].parameters, trials[2].parameters);
  EXPECT_NE(trials[0].parameters, trials[3].parameters);
}

TEST(Repeats, OfAConfigurationThatIsClearlyWorseAreLeftOut) {
  TempDirectory folder;
  HandClock clock;
  TimedRunner runner(clock, [](TrialNumber trial, int, const Json&) {
    return Reports("accuracy", (trial < 12 ? 0.9 : 0.1) + 0.001 * static_cast<double>(trial % 12));
  });
  auto options = LimitsOptions(2);
  options.repeats = 12;
  options.scheduler.type = "wilcoxon";
  const auto summary = RunStudy(folder, options, runner);
  EXPECT_GT(summary.pruned, 4);
  EXPECT_EQ(summary.complete + summary.pruned, 24);
  EXPECT_THAT(TrialsInBook(folder).back().reason, HasSubstr("are worse than those of trial 0"));
}

TEST(SeveralObjectives, AreAllKept) {
  TempDirectory folder;
  HandClock clock;
  TimedRunner runner(clock, [](TrialNumber trial, int, const Json&) {
    Script script = Reports("accuracy", 0.5);
    if (trial == 0) script.metrics.push_back({0, 0, "seconds", 1, {}, 7.0});
    return script;
  });
  auto options = LimitsOptions(2);
  options.objectives.push_back({"seconds", Goal::kMinimize});
  const auto summary = RunStudy(folder, options, runner);
  EXPECT_EQ(summary.complete, 1);
  const auto trials = TrialsInBook(folder);
  EXPECT_THAT(trials[0].further, ElementsAre(7.0));
  EXPECT_EQ(trials[1].reason, "reported no finite 'seconds'; it reported: accuracy");
}

TEST(TimeToAccuracy, IsTheTimeUntilTheMetricIsGoodEnough) {
  TempDirectory folder;
  HandClock clock;
  TimedRunner runner(clock, [&](TrialNumber trial, int, const Json&) {
    Script script;
    const double begin = UnixSeconds(clock.Now());
    script.metrics = {{0, 0, "accuracy", 1, {}, 0.5, begin + 10},
                      {0, 0, "accuracy", 2, {}, 0.7 + 0.1 * static_cast<double>(trial), begin + 20}};
    return script;
  });
  runner.each_takes_ = std::chrono::seconds(30);
  auto options = LimitsOptions(2);
  options.objectives[0].reach = 0.75;
  const auto summary = RunStudy(folder, options, runner);
  EXPECT_EQ(summary.best->objective, 20);
  EXPECT_EQ(summary.pruned, 1);
  EXPECT_EQ(TrialsInBook(folder)[0].reason, "did not reach accuracy = 0.75, only 0.7");
}

/// One report for each epoch until told to stop; goes on where the attempt before has ended.
class EpochRunner : public TrialRunner {
 public:
  ProcessIdentity Prepare(const TrialStart& start) override {
    lr_[start.trial] = start.parameters.at("lr").get<double>();
    attempt_[start.trial] = start.attempt;
    return {1, 1, "boot"};
  }
  void Release(TrialNumber trial) override { live_.insert(trial); }
  void Stop(TrialNumber trial, StopReason) override {
    if (live_.erase(trial) > 0) ended_.push_back(trial);
  }
  void EndOrphan(const ProcessIdentity&) override {}
  std::vector<TrialEvent> Wait(std::chrono::nanoseconds) override {
    std::vector<TrialEvent> events;
    for (const auto trial : std::exchange(ended_, {})) events.push_back(TrialEnded{trial, attempt_[trial], {}, ""});
    for (const auto trial : std::set(live_)) Train(trial, events);
    return events;
  }

  int epochs_ = 0;

 private:
  static constexpr int kAll = 9;

  void Train(TrialNumber trial, std::vector<TrialEvent>& events) {
    const int epoch = ++epoch_[trial];
    ++epochs_;
    events.push_back(MetricRecord{trial, attempt_[trial], "accuracy", epoch, double(epoch), lr_[trial] * epoch});
    if (epoch < kAll) return;
    live_.erase(trial);
    events.push_back(TrialEnded{trial, attempt_[trial], {}, ""});
  }

  std::map<TrialNumber, double> lr_;
  std::map<TrialNumber, int> attempt_, epoch_;
  std::set<TrialNumber> live_;
  std::vector<TrialNumber> ended_;
};

EnsembleOptions HalvingOptions() {
  auto options = LimitsOptions(27, 3);
  options.scheduler.type = "asha";
  options.scheduler.min = 1;
  options.scheduler.max = 9;
  options.scheduler.reduction = 3;
  return options;
}

TEST(Asha, PausesTrialsAtRungsAndGoesOnWithTheBest) {
  TempDirectory folder;
  auto book = TrialBook::OpenForWriting(folder.path());
  EpochRunner runner;
  CountingObserver observer;
  const auto options = HalvingOptions();
  const auto summary = RunEnsemble(book, options, runner, observer);
  EXPECT_GE(summary.complete, 1);
  EXPECT_GT(summary.paused, 10);
  EXPECT_LT(runner.epochs_, 27 * 9 / 2) << "less than half of what all trials would have cost";
  const auto trials = book.Trials();
  double best = 0;
  for (const auto& trial : trials) best = std::max(best, std::get<double>(trial.parameters.at(0).second));
  EXPECT_EQ(std::get<double>(summary.best->parameters.at(0).second), best)
      << "the order never changes, so the best wins";
  EXPECT_FALSE(book.Rungs().empty());
  for (const auto& rung : book.Rungs()) EXPECT_THAT(rung.resource, testing::AnyOf(1, 3, 9));
  for (const auto& trial : trials) {
    EXPECT_TRUE(trial.state != TrialState::kPaused || trial.objective) << "samplers learn from paused ones";
  }
}

TEST(Budget, OfTrialsMayBeLoweredToEndSooner) {
  TempDirectory folder;
  HandClock clock;
  TimedRunner runner(clock, [](TrialNumber trial, int attempt, const Json& parameters) {
    return (trial == 2 || trial == 3) && attempt == 1 ? RunsUntilStopped()
                                                      : ReportsLrAtOnce(trial, attempt, parameters);
  });
  auto options = LimitsOptions(8, 2);
  options.manager_time_limit = 10;
  EXPECT_EQ(RunStudy(folder, options, runner).waiting, 2);
  options.trials = 3;
  const auto summary = RunStudy(folder, options, runner);
  EXPECT_EQ(summary.complete, 4) << "what has begun comes to its end";
  EXPECT_EQ(summary.not_begun, 0);
  EXPECT_EQ(TrialBook::OpenForReading(folder.path()).Study()->trials, 4) << "not 4 of 3";
  options.trials = 5;
  EXPECT_EQ(RunStudy(folder, options, runner).complete, 5);
}

TEST(Requests, AreAnsweredOnce) {
  TempDirectory folder;
  HandClock clock;
  TimedRunner runner(clock, [](TrialNumber trial, int attempt, const Json& parameters) {
    return trial == 0 && attempt == 1 ? Exits({3, 0}) : ReportsLrAtOnce(trial, attempt, parameters);
  });
  auto options = LimitsOptions(3);
  options.requests_in = folder.path();
  EXPECT_EQ(RunStudy(folder, options, runner).failed, 1);
  options.trials = 4;
  PostRequest(folder.path(), Retry{{0}});
  PostRequest(folder.path(), Enqueue{{{"lr", 0.125}}});
  PostRequest(folder.path(), Enqueue{{{"lr", 0.25}}});
  PostRequest(folder.path(), Enqueue{{{"momentum", 0.25}}});
  PostRequest(folder.path(), Retry{{1}});
  const auto summary = RunStudy(folder, options, runner);
  EXPECT_EQ(summary.complete, 4);
  EXPECT_TRUE(WaitingRequests(folder.path()).empty());
  const auto trials = TrialsInBook(folder);
  ASSERT_EQ(trials.size(), 4u);
  EXPECT_EQ(trials[0].attempts, 2);
  EXPECT_EQ(trials[3].origin, "enqueued");
  EXPECT_EQ(trials[3].objective, 0.125);
  EXPECT_EQ(RunStudy(folder, options, runner).complete, 4);
}

TEST(Requests, ATrialThatFailsAgainIsOneFailure) {
  TempDirectory folder;
  HandClock clock;
  TimedRunner runner(clock, [](TrialNumber trial, int attempt, const Json& parameters) {
    return trial == 0 ? Exits({3, 0}) : ReportsLrAtOnce(trial, attempt, parameters);
  });
  auto options = LimitsOptions(3);
  options.max_failures = 1;
  options.requests_in = folder.path();
  EXPECT_FALSE(RunStudy(folder, options, runner).too_many_failures);
  PostRequest(folder.path(), Retry{{0}});
  const auto summary = RunStudy(folder, options, runner);
  EXPECT_EQ(summary.failed, 1);
  EXPECT_FALSE(summary.too_many_failures);
}

TEST(Requests, TakeNoPointOfAGridAway) {
  TempDirectory folder;
  HandClock clock;
  TimedRunner runner(clock, ReportsLrAtOnce);
  auto options = LimitsOptions(4);
  options.space = ParseSpace(Json::parse(R"({"lr":{"ordinal":[1,2,3,4,5]}})"));
  options.sampler = "grid";
  options.requests_in = folder.path();
  options.points = {{{"lr", std::int64_t{3}}}};
  PostRequest(folder.path(), Enqueue{{{"lr", std::int64_t{5}}}});
  RunStudy(folder, options, runner);
  std::vector<std::int64_t> values;
  for (const auto& trial : TrialsInBook(folder))
    values.push_back(std::get<std::int64_t>(trial.parameters.at(0).second));
  EXPECT_THAT(values, ElementsAre(5, 3, 1, 2));
}

TEST(Retries, AreNotWastedOnAFailureThatComesAgain) {
  TempDirectory folder;
  HandClock clock;
  TimedRunner runner(clock, [](TrialNumber, int, const Json&) { return Exits({3, 0}); });
  auto options = LimitsOptions(1);
  options.retries = 9;
  EXPECT_EQ(RunStudy(folder, options, runner).failed, 1);
  const auto trials = TrialsInBook(folder);
  EXPECT_EQ(trials[0].attempts, 2);
  EXPECT_THAT(trials[0].reason, HasSubstr("as the attempt before"));
}

/// Five lines with an epoch in each attempt, and the same failure. `goes_on`: each attempt begins where the last ended.
EnsembleSummary RunFailingLines(const TempDirectory& folder, StepSource steps, bool goes_on) {
  HandClock clock;
  TimedRunner runner(clock, [goes_on](TrialNumber, int attempt, const Json&) {
    auto script = Exits({3, 0});
    for (int line = 0; line < 5; ++line) {
      const int step = 5 * attempt + line;
      script.metrics.push_back({0, 0, "accuracy", step, goes_on ? step : line, 0.5});
    }
    return script;
  });
  auto options = LimitsOptions(1);
  options.retries = 3;
  options.steps = steps;
  return RunStudy(folder, options, runner);
}

TEST(Retries, AreNotWastedOnTheSameEpochWhereStepsAreCounted) {
  TempDirectory by_steps, counted, continued;
  EXPECT_EQ(RunFailingLines(by_steps, StepSource::kProgram, false).failed, 1);
  EXPECT_EQ(TrialsInBook(by_steps)[0].attempts, 4);
  EXPECT_EQ(RunFailingLines(counted, StepSource::kCount, false).failed, 1);
  EXPECT_EQ(TrialsInBook(counted)[0].attempts, 2);
  EXPECT_EQ(RunFailingLines(continued, StepSource::kCount, true).failed, 1);
  EXPECT_EQ(TrialsInBook(continued)[0].attempts, 4);
}

}  // namespace
}  // namespace slipway::ensemble
