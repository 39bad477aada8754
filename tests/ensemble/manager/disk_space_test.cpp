// An ensemble whose disk is full, and one whose trials all fail alike: what it does not begin, and how it goes on.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "ensemble/manager/manager.h"
#include "tests/ensemble/manager/fake_runner.h"
#include "tests/support/temp_directory.h"

namespace slipway::ensemble {
namespace {

using test::TempDirectory;
using testing::ElementsAre;
using testing::HasSubstr;

EnsembleOptions RoomOptions(std::int64_t trials, int parallel) {
  EnsembleOptions options;
  options.objectives = {{"accuracy"}};
  options.trials = trials;
  options.parallel = parallel;
  options.sampler = "random";
  options.space = ParseSpace(Json::parse(R"({"lr":{"log":[1e-4,1]}})"));
  return options;
}

class PauseObserver : public CountingObserver {
 public:
  void Paused(const Pause& pause) override {
    pauses.push_back(pause.why);
    EXPECT_EQ(pause.cause, PauseCause::kDiskFull);
  }
  void GoesOn() override { ++goes_on; }

  std::vector<std::string> pauses;
  int goes_on = 0;
};

/// Full after some attempts, until somebody has looked for room a few times.
class Disk {
 public:
  explicit Disk(int attempts) : attempts_left_(attempts) {}

  bool TakeAttempt() { return --attempts_left_ >= 0; }
  std::string WhyNoDiskSpace() {
    if (attempts_left_ >= 0) return {};
    if (++looks_ >= 3) attempts_left_ = 1'000'000;
    return looks_ >= 3 ? "" : "No space left on device in '/disk'";
  }

 private:
  int attempts_left_;
  int looks_ = 0;
};

struct Ran {
  EnsembleSummary summary;
  PauseObserver observer;
};

Ran RunOn(Disk& disk, const TempDirectory& folder, const Script& on_full_disk) {
  FakeRunner runner([&](TrialNumber, int, const Json& parameters) {
    return disk.TakeAttempt() ? Reports("accuracy", parameters.at("lr").get<double>()) : on_full_disk;
  });
  runner.no_space_ = [&] { return disk.WhyNoDiskSpace(); };
  auto book = TrialBook::OpenForWriting(folder.path());
  Ran ran;
  ran.summary = RunEnsemble(book, RoomOptions(12, 2), runner, ran.observer);
  return ran;
}

Script CannotStart() {
  Script script;
  script.can_start = false;
  return script;
}

Script ReportsTooLittle() { return Reports("accuracy", -1); }

/// Whatever a full disk makes of an attempt, its trial comes to the end that it has on a disk with room.
class NoRoom : public testing::TestWithParam<Script> {};
INSTANTIATE_TEST_SUITE_P(For, NoRoom,
                         testing::Values(CannotStart(), Exits({1, 0}, "OSError: [Errno 28]"), ReportsTooLittle()));

TEST_P(NoRoom, PausesTheEnsembleAndCostsNoTrial) {
  TempDirectory folder;
  Disk disk(5);
  const auto ran = RunOn(disk, folder, GetParam());
  EXPECT_EQ(ran.summary.complete, 12);
  EXPECT_EQ(ran.summary.failed, 0);
  EXPECT_THAT(ran.observer.pauses, ElementsAre(HasSubstr("No space left on device in '/disk'")));
  EXPECT_EQ(ran.observer.goes_on, 1);
  auto book = TrialBook::OpenForReading(folder.path());
  std::size_t disk_full = 0;
  for (const auto& trial : book.Trials()) {
    EXPECT_EQ(trial.failures, 0);
    EXPECT_GT(*trial.objective, 0);
    for (const auto& attempt : book.Attempts(trial.number)) disk_full += attempt.outcome == Outcome::kDiskFull ? 1 : 0;
  }
  EXPECT_GE(disk_full, 1u);
  EXPECT_LE(disk_full, 2u) << "no more than ran at a time";
}

TEST(NoRoom, IsNotWaitedForByWhoIsAskedToStop) {
  TempDirectory folder;
  FakeRunner runner([](TrialNumber, int, const Json&) { return CannotStart(); });
  runner.no_space_ = [&] {
    runner.stop_after_ = 1;
    runner.released_ = {0};
    return "No space left on device";
  };
  auto book = TrialBook::OpenForWriting(folder.path());
  PauseObserver observer;
  const auto summary = RunEnsemble(book, RoomOptions(12, 2), runner, observer);
  EXPECT_TRUE(summary.interrupted);
  EXPECT_EQ(summary.failed, 0);
  EXPECT_EQ(summary.waiting, 2);
}

Script FailsSaying(const std::string& last_line) {
  auto script = Exits({1, 0}, "rank 0 failed");
  script.last_line = last_line;
  return script;
}

TEST(FailuresAlike, EndTheEnsembleBeforeAllTrialsAreSpent) {
  TempDirectory folder;
  FakeRunner runner([](TrialNumber, int, const Json&) { return FailsSaying("no licence"); });
  auto options = RoomOptions(240, 1);
  options.stop_on_same_failure = 3;
  auto book = TrialBook::OpenForWriting(folder.path());
  PauseObserver observer;
  const auto summary = RunEnsemble(book, options, runner, observer);
  EXPECT_EQ(summary.failed, 3);
  EXPECT_EQ(summary.not_begun, 237);
  EXPECT_EQ(summary.same_failure, "3 trials in a row failed alike: exit status 1: no licence");
  EXPECT_THAT(observer.warnings, ElementsAre(HasSubstr("no further trial begins")));
}

TEST(FailuresAlike, OfAllTrialsThatThereAreIsNoneThatIsLeft) {
  TempDirectory folder;
  FakeRunner runner([](TrialNumber, int, const Json&) { return FailsSaying("no licence"); });
  auto options = RoomOptions(3, 1);
  options.stop_on_same_failure = 3;
  auto book = TrialBook::OpenForWriting(folder.path());
  PauseObserver observer;
  EXPECT_EQ(RunEnsemble(book, options, runner, observer).same_failure, "");
}

}  // namespace
}  // namespace slipway::ensemble
