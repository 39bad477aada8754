#include "ensemble/model/study_clock.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "ensemble/manager/ask_tell.h"
#include "ensemble/manager/manager.h"
#include "tests/ensemble/hand_clock.h"
#include "tests/ensemble/manager/fake_runner.h"
#include "tests/support/temp_directory.h"

namespace slipway::ensemble {
namespace {

using namespace std::chrono_literals;
using test::TempDirectory;
using testing::DoubleEq;

TEST(StudyClock, GoesOnWhateverBecomesOfTheClockOfTheDay) {
  HandClock clock;
  StudyClock study(clock);
  const auto begun = study.Now();
  clock.jump = -24h;
  clock.Sleep(10s);
  EXPECT_EQ(study.Now() - begun, 10s);
}

TEST(StudyClock, TranslatesTimesOfTheDay) {
  HandClock clock;
  StudyClock study(clock);
  clock.jump = 24h;
  clock.Sleep(10s);
  const double now = UnixSeconds(clock.Now());
  EXPECT_DOUBLE_EQ(study.OfDay(now - 3), UnixSeconds(study.Now()) - 3);
  EXPECT_DOUBLE_EQ(study.OfDay(now + 99), UnixSeconds(study.Now())) << "never in the future";
}

TEST(StudyClock, GoesOnWhereAnEarlierSessionWasOnTheSameBoot) {
  HandClock clock;
  StudyClock first(clock);
  const auto reading = first.Reading();
  clock.Sleep(10s);
  clock.jump = -24h;
  StudyClock second(clock, reading);
  EXPECT_DOUBLE_EQ(UnixSeconds(second.Now()), reading.time + 10);
}

TEST(StudyClock, BeginsAnewAfterABootAndOnAnotherMachine) {
  HandClock clock;
  const ClockReading elsewhere{500, "another boot", 0};
  EXPECT_EQ(StudyClock(clock, elsewhere).Now(), clock.Now());
  clock.Sleep(10s);
  auto reading = StudyClock(clock).Reading();
  clock.passed = 1s;  // less has passed since the boot than then
  reading.time = 5;
  EXPECT_EQ(StudyClock(clock, reading).Now(), clock.Now());
}

EnsembleOptions OneTrial() {
  EnsembleOptions options;
  options.objectives = {{"accuracy"}};
  options.sampler = "random";
  options.space = ParseSpace(Json::parse(R"({"lr":{"log":[1e-4,1]}})"));
  return options;
}

/// Each trial takes ten seconds, in which the clock of the day is set.
class SettingRunner : public FakeRunner {
 public:
  SettingRunner(HandClock& clock, std::chrono::seconds jump)
      : FakeRunner([](TrialNumber, int, const Json&) { return Reports("accuracy", 0.5); }),
        clock_(clock),
        jump_(jump) {}

  std::vector<TrialEvent> Wait(std::chrono::nanoseconds limit) override {
    clock_.Sleep(4s);
    const double reported = UnixSeconds(clock_.Now());
    clock_.jump += jump_;
    clock_.Sleep(6s);
    auto events = FakeRunner::Wait(limit);
    for (auto& event : events) {
      if (auto* metric = std::get_if<MetricRecord>(&event)) metric->time = reported;
    }
    return events;
  }

 private:
  HandClock& clock_;
  std::chrono::seconds jump_;
};

class SetClock : public testing::TestWithParam<std::chrono::seconds> {};
INSTANTIATE_TEST_SUITE_P(By, SetClock, testing::Values(-48h, 48h));

TEST_P(SetClock, LeavesDurationsAndBudgetsRight) {
  TempDirectory folder;
  HandClock clock;
  auto options = OneTrial();
  options.trials = 3;
  options.budget.wall_seconds = 3600;
  options.budget.node_seconds = 3600;
  {
    auto book = TrialBook::OpenForWriting(folder.path());
    SettingRunner runner(clock, GetParam());
    CountingObserver observer;
    ASSERT_EQ(RunEnsemble(book, options, runner, observer, clock).complete, 3);
    EXPECT_THAT(book.Used().wall_seconds, DoubleEq(30));
    EXPECT_THAT(book.Used().node_seconds, DoubleEq(30));
    for (const auto& trial : book.Trials()) EXPECT_THAT(*trial.ended - *trial.started, DoubleEq(10));
  }
  options.trials = 6;
  auto book = TrialBook::OpenForWriting(folder.path());
  SettingRunner runner(clock, GetParam());
  CountingObserver observer;
  const auto summary = RunEnsemble(book, options, runner, observer, clock);
  EXPECT_EQ(summary.complete, 6);
  EXPECT_FALSE(summary.out_of_time) << "most of the hour is left";
}

/// Time to accuracy is told by the trial's own time.
TEST_P(SetClock, LeavesTheTimeToAnAccuracyRight) {
  TempDirectory folder;
  HandClock clock;
  auto options = OneTrial();
  options.objectives[0].reach = 0.4;
  auto book = TrialBook::OpenForWriting(folder.path());
  SettingRunner runner(clock, GetParam());
  CountingObserver observer;
  const auto summary = RunEnsemble(book, options, runner, observer, clock);
  ASSERT_TRUE(summary.best);
  EXPECT_GE(*summary.best->objective, 0);
  EXPECT_LE(*summary.best->objective, 10);
}

/// Each request may be a session of its own.
TEST_P(SetClock, LeavesAskedTrialsTheirTime) {
  TempDirectory folder;
  HandClock clock;
  auto options = OneTrial();
  options.trial_time_limit = 3600;
  {
    auto book = TrialBook::OpenForWriting(folder.path());
    AskTell session(book, options, {}, clock);
    ASSERT_TRUE(std::holds_alternative<AskedTrial>(session.Ask()));
  }
  clock.jump += GetParam();
  clock.Sleep(20s);
  auto book = TrialBook::OpenForWriting(folder.path());
  AskTell session(book, options, {}, clock);
  EXPECT_EQ(session.Report(0, {1, {}, {{"accuracy", 0.5}}}).decision, Decision::kContinue);
  const auto trial = session.Tell(0, ToldResults{{0.5}});
  EXPECT_EQ(trial.state, TrialState::kComplete);
  EXPECT_NEAR(*trial.ended - *trial.started, 20, 1e-3);
}

}  // namespace
}  // namespace slipway::ensemble
