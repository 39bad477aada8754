// Who has time to save when a run is stopped: checkpoint.stop_file.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include "core/files.h"
#include "core/parse_utc.h"
#include "core/units.h"
#include "tests/end_to_end/workplace.h"

namespace slipway::test {
namespace {

/// It saves when it finds the stop file, and when it gets SIGTERM it writes that down and ends.
constexpr auto kLooksForTheFile =
    "trap 'echo TERM >> order; exit 1' TERM\n"
    "touch started\n"
    "until test -e \"$SLIPWAY_STOP_FILE\"; do sleep 0.05; done\n"
    "echo saved >> order\n"
    "exit 75\n";
/// It never looks.
constexpr auto kPlain =
    "trap 'echo TERM >> order; exit 1' TERM\n"
    "touch started\n"
    "while :; do sleep 0.05; done\n";
constexpr auto kPrinted = "  metrics: {from: stdout, pattern: '(?<x>\\d+)'}\n";

/// Starts the program, and Ctrl-C once it runs; returns when the run has ended.
void Interrupt(const Workplace& place, const std::string& program, const std::string& more) {
  place.Write("train.sh", program);
  place.WriteSpec("exp.yaml", "[sh, train.sh]", 1, more);
  auto run = place.Start({"run", "exp.yaml"});
  place.WaitForFile(place / "started");
  run.Signal(SIGINT);
  EXPECT_EQ(run.Wait().code, 130);
  EXPECT_EQ(place.Status()["phase"], "cancelled");
}

/// From the second in which the stop file is written to the deadline in it, which was chosen a moment before.
Seconds TimeGiven(const Workplace& place) {
  const auto file = place.RunFolder() / "attempt-1/stop.json";
  struct stat about {};
  EXPECT_EQ(::stat(file.c_str(), &about), 0);
  const auto deadline = UnixSecondsIn(Json::parse(ReadFile(file))["deadline"].get<std::string>());
  return Seconds(deadline.value() - static_cast<double>(about.st_mtim.tv_sec));
}

TEST(StopFile, GivesAProgramThatPrintsItsMetricsTimeToSave) {
  Workplace place;
  Interrupt(place, kLooksForTheFile, kPrinted + std::string("checkpoint: {stop_file: true}\n"));
  EXPECT_EQ(ReadFile(place / "order"), "saved\n");
  place.WaitForWords("stopping the ranks, which takes up to 15.0 s");
}

TEST(StopFile, ThatNoProgramLooksForIsNotWaitedFor) {
  Workplace place;
  Interrupt(place, kPlain, "checkpoint: {stop_file: false}\n");
  EXPECT_EQ(ReadFile(place / "order"), "TERM\n");
  EXPECT_LT(TimeGiven(place), Seconds(5));
  place.WaitForWords("stopping the ranks, which takes up to 5.0 s");
}

TEST(StopFile, IsLeftToTheSignalWhereOneIsSet) {
  Workplace place;
  const std::string saves_on_signal = "trap 'echo saved >> order; exit 75' USR1\n";
  Interrupt(place, saves_on_signal + kPlain, "checkpoint: {stop_file: false, signal: USR1}\n");
  EXPECT_EQ(ReadFile(place / "order"), "saved\n");
  place.WaitForWords("stopping the ranks, which takes up to 15.0 s");
}

}  // namespace
}  // namespace slipway::test
