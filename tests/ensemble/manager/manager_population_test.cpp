// A population whose trials train in step: whoever is replaced takes a while to end, and its parent goes on meanwhile.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "ensemble/manager/manager.h"
#include "ensemble/manager/next_trial.h"
#include "tests/ensemble/manager/fake_runner.h"
#include "tests/support/temp_directory.h"

namespace slipway::ensemble {
namespace {

constexpr int kWhole = 5;

/// Each wait is an epoch of every trial; it reports lr * epoch. Who is told to stop writes its checkpoint meanwhile.
class InStepRunner : public TrialRunner {
 public:
  ProcessIdentity Prepare(const TrialStart& start) override {
    auto& trial = trials_[start.trial];
    trial = {start.attempt, start.parameters.at("lr").get<double>(), start.attempt > 1 ? trial.epoch : 0};
    if (start.parent && start.attempt == 1) trial.epoch = trials_.at(*start.parent).epoch;
    learned_[start.trial] = kWhole - trial.epoch;
    return {1000 + start.trial, 1, "boot"};
  }
  void Release(TrialNumber trial) override { running_.insert(trial); }
  void Stop(TrialNumber trial, StopReason) override { trials_.at(trial).told = true; }
  void EndOrphan(const ProcessIdentity&) override {}
  std::vector<TrialEvent> Recover(TrialNumber, int) override { return {}; }

  std::vector<TrialEvent> Wait(std::chrono::nanoseconds) override {
    std::vector<TrialEvent> events;
    for (const auto number : std::set(running_)) {
      auto& trial = trials_.at(number);
      if (!trial.told) {
        ++trial.epoch;
        events.push_back(
            MetricRecord{number, trial.attempt, "accuracy", trial.epoch, 1.0 * trial.epoch, trial.lr * trial.epoch});
        if (trial.epoch < kWhole) continue;
      }
      events.push_back(TrialEnded{number, trial.attempt, {}, {}});
      running_.erase(number);
    }
    return events;
  }

  struct Training {
    int attempt = 1;
    double lr = 0;
    int epoch = 0;
    bool told = false;
  };
  std::map<TrialNumber, Training> trials_;
  std::map<TrialNumber, int> learned_;  // epochs that it had before it when it began
  std::set<TrialNumber> running_;
};

EnsembleOptions Population(int size, std::uint64_t seed, std::optional<double> max) {
  EnsembleOptions options;
  options.objectives = {{"accuracy"}};
  options.trials = 40;
  options.parallel = size;
  options.sampler = "random";
  options.seed = seed;
  options.scheduler.type = "pbt";
  options.scheduler.interval = 1;
  options.scheduler.max = max;
  options.space = ParseSpace(Json::parse(R"({"lr":{"log":[1e-4,1]}})"));
  return options;
}

/// Number of trials at once, and whether the spec says where a whole trial ends.
class ManagerPopulation : public testing::TestWithParam<std::tuple<int, bool>> {};

TEST_P(ManagerPopulation, ACopyFollowsWheneverOneIsPromisedAndHasSomethingToLearn) {
  const auto [size, knows_the_end] = GetParam();
  const auto max = knows_the_end ? std::optional<double>(kWhole) : std::nullopt;
  int replaced = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const test::TempDirectory folder;
    InStepRunner runner;
    CountingObserver observer;
    auto book = TrialBook::OpenForWriting(folder.path());
    const auto summary = RunEnsemble(book, Population(size, seed, max), runner, observer);
    int copies = 0;
    for (const auto& trial : book.Trials()) copies += trial.parent ? 1 : 0;
    EXPECT_EQ(copies, summary.pruned) << "seed " << seed;
    EXPECT_EQ(summary.failed, 0);
    EXPECT_EQ(summary.complete, size) << "every place trains to its end";
    EXPECT_EQ(summary.not_begun, 40 - size - copies);
    for (const auto& [trial, epochs] : runner.learned_) EXPECT_GT(epochs, 0) << "trial " << trial;
    replaced += summary.pruned;
  }
  EXPECT_GT(replaced, 0);
}

/// All trials after the first one are copies of it.
class CopiesOfTheFirst : public Scheduler {
 public:
  void Learn(const Report&) override {}
  Judgement Take(const Report&) override { return {}; }
  void End(TrialNumber, TrialState) override {}
  std::optional<Descent> Descend(TrialNumber trial) const override {
    return trial == 0 ? std::nullopt : std::optional(Descent{0});
  }
};

TEST(NextTrial, GivesCopiesOfOneParentDifferentParametersWhileTheyTrain) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const test::TempDirectory folder;
    auto book = TrialBook::OpenForWriting(folder.path());
    auto options = Population(8, seed, {});
    options.space = ParseSpace(Json::parse(R"({"lr":{"ordinal":[1,2,3]}})"));
    OpenStudy study(book, options, 0);
    CopiesOfTheFirst scheduler;
    Changes changes;
    for (TrialNumber trial = 0; trial < 3; ++trial) ASSERT_EQ(NextTrial(options, study, scheduler, changes), trial);
    EXPECT_NE(study.at(1).configuration, study.at(2).configuration);
    study.Edit(1).state = TrialState::kPruned;
    study.Changed(1);
    ASSERT_EQ(NextTrial(options, study, scheduler, changes), 3);
    EXPECT_EQ(study.at(3).configuration, study.at(1).configuration) << "that copy has ended";
  }
}

INSTANTIATE_TEST_SUITE_P(OfSize, ManagerPopulation, testing::Combine(testing::Values(2, 3, 8), testing::Bool()));

}  // namespace
}  // namespace slipway::ensemble
