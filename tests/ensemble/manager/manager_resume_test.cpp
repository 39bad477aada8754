// A manager dies between a decision of its scheduler and the end of the trial that it is about. The trials are jobs of
// their own that go on meanwhile.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "ensemble/manager/manager.h"
#include "tests/ensemble/manager/fake_runner.h"
#include "tests/support/temp_directory.h"

namespace slipway::ensemble {
namespace {

using test::TempDirectory;

struct Killed {};

/// Each reports one epoch at each look, and needs some more after it was told to stop. They outlive their managers.
class Jobs : public TrialRunner {
 public:
  /// The manager dies as it tells for the `dies_at`th time one to stop; 0: never.
  explicit Jobs(int dies_at) : dies_at_(dies_at) {}

  ProcessIdentity Prepare(const TrialStart& start) override {
    Job& job = jobs_[start.trial];
    if (start.parent && job.epoch == 0) job.epoch = jobs_.at(*start.parent).epoch;
    job = {start.attempt, job.epoch, start.parameters.at("lr").get<double>(), {}, {}};
    return {};
  }
  void Release(TrialNumber trial) override { live_.insert(trial); }
  bool Queues() const override { return true; }
  void Stop(TrialNumber trial, StopReason) override {
    if (++told_ == dies_at_) throw Killed{};
    auto& left = jobs_.at(trial).epochs_left;
    if (!left) left = kSlowToStop;  // who is told again has heard it already
  }
  void EndOrphan(const ProcessIdentity&) override {}
  std::vector<TrialEvent> Recover(TrialNumber trial, int attempt) override {
    const auto& job = jobs_.at(trial);
    return job.attempt == attempt ? job.said : std::vector<TrialEvent>();
  }
  bool GoesOn(TrialNumber trial, int) override { return live_.contains(trial); }

  std::vector<TrialEvent> Wait(std::chrono::nanoseconds) override {
    std::vector<TrialEvent> events;
    for (const auto trial : std::set(live_)) {
      Job& job = jobs_.at(trial);
      const auto before = job.said.size();
      Train(trial, job);
      events.insert(events.end(), job.said.begin() + static_cast<std::ptrdiff_t>(before), job.said.end());
    }
    return events;
  }

  /// How often managers have told one to stop.
  int told() const { return told_; }

 private:
  static constexpr int kWhole = 9;
  static constexpr int kSlowToStop = 2;

  struct Job {
    int attempt = 1;
    int epoch = 0;
    double lr = 0;
    std::optional<int> epochs_left;
    std::vector<TrialEvent> said;
  };

  void Train(TrialNumber trial, Job& job) {
    if (job.said.empty()) job.said.push_back(TrialBegan{trial, job.attempt, 0});
    ++job.epoch;
    const double value = std::log10(job.lr) + 2 * std::sin(job.epoch + 3.0 * static_cast<double>(trial));
    job.said.push_back(MetricRecord{trial, job.attempt, "accuracy", job.epoch, double(job.epoch), value});
    const bool stops = job.epochs_left && --*job.epochs_left == 0;
    if (!stops && job.epoch < kWhole) return;
    job.said.push_back(TrialEnded{trial, job.attempt, {}, ""});
    live_.erase(trial);
  }

  int dies_at_;
  int told_ = 0;
  std::map<TrialNumber, Job> jobs_;
  std::set<TrialNumber> live_;
};

EnsembleOptions OptionsFor(const std::string& scheduler) {
  EnsembleOptions options;
  options.objectives = {{"accuracy"}};
  options.trials = 24;
  options.parallel = 4;
  options.sampler = "random";
  options.scheduler.type = scheduler;
  options.scheduler.max = 9;
  options.scheduler.interval = 2;
  options.scheduler.startup = 2;
  options.space = ParseSpace(Json::parse(R"({"lr":{"log":[1e-4,1]}})"));
  return options;
}

/// What has become of every trial, and what was decided at every rung.
std::vector<std::string> OutcomeOfRun(TrialBook& book) {
  std::vector<std::string> lines;
  for (const auto& trial : book.Trials()) {
    lines.push_back(fmt::format("{} {} {} from {}: {}", trial.number, WordOf(trial.state), trial.objective.value_or(-1),
                                trial.parent.value_or(-1), trial.reason));
  }
  for (const auto& rung : book.Rungs()) lines.push_back(fmt::format("{} {} {}", rung.trial, rung.rung, rung.decision));
  return lines;
}

class ResumedScheduler : public testing::TestWithParam<std::string> {};

TEST_P(ResumedScheduler, RemembersWhomItToldToStop) {
  const auto options = OptionsFor(GetParam());
  TempDirectory undisturbed;
  auto expected = TrialBook::OpenForWriting(undisturbed.path());
  CountingObserver observer;
  Jobs all(0);
  RunEnsemble(expected, options, all, observer);
  ASSERT_GE(all.told(), 3) << "shows nothing";
  for (int death = 1; death <= all.told(); ++death) {
    TempDirectory folder;
    auto book = TrialBook::OpenForWriting(folder.path());
    Jobs jobs(death);
    EXPECT_THROW(RunEnsemble(book, options, jobs, observer), Killed);
    RunEnsemble(book, options, jobs, observer);
    EXPECT_EQ(OutcomeOfRun(book), OutcomeOfRun(expected)) << "died as it told one for the " << death << "th time";
  }
}

INSTANTIATE_TEST_SUITE_P(Of, ResumedScheduler, testing::Values("asha", "hyperband", "pbt", "median"),
                         [](const auto& scheduler) { return scheduler.param; });

}  // namespace
}  // namespace slipway::ensemble
