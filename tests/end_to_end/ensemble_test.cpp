// Ensembles as a user runs them: ranked, interrupted, killed, continued.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <map>

#include "core/files.h"
#include "tests/end_to_end/workplace.h"

namespace slipway::test {
namespace {
namespace fs = std::filesystem;

using testing::HasSubstr;

constexpr int kTrials = 12;

/// Every finished trial appends its number to the file `done`; the objective is -(x - 3)^2.
constexpr auto kCommand =
    "[sh, -c, 'sleep 0.05; echo FoM: $(( -($1-3)*($1-3) )); basename $SLIPWAY_RUN_DIR >> done', trial, '{x}']";
constexpr auto kEnsemble =
    "  metrics: {from: stdout, pattern: 'FoM: (?<objective>\\S+)'}\n"
    "ensemble:\n"
    "  objective: {metric: objective, goal: maximize}\n"
    "  parallel: 3\n"
    "  sampler: grid\n"
    "  space: {x: {int: [0, 11]}}\n";

/// How often each trial has run to its end.
std::map<std::string, int> CompletedRuns(const Workplace& place) {
  std::map<std::string, int> runs;
  std::ifstream file(place / "done");
  for (std::string trial; file >> trial;) ++runs[trial];
  return runs;
}

TEST(Ensemble, RanksItsTrials) {
  Workplace place;
  place.WriteSpec("exp.yaml", kCommand, 1, kEnsemble);
  const auto ran = place.Slipway({"run", "exp.yaml"});
  ASSERT_EQ(ran.status.code, 0) << ran.errors << ran.output;
  const auto best = Json::parse(place.Slipway({"trials", "best", "--json"}).output);
  EXPECT_EQ(best["trials"][0]["parameters"]["x"], 3);
  EXPECT_EQ(place.Slipway({"logs", "last", "--trial", "3"}).output, "[0] FoM: 0\n");
  EXPECT_EQ(CompletedRuns(place).size(), kTrials);
}

TEST(Ensemble, RunsTrialsOfSeveralRanks) {
  Workplace place;
  place.WriteSpec("exp.yaml", "[sh, -c, 'echo FoM: $WORLD_SIZE']", 2, kEnsemble);
  const auto ran = place.Slipway({"run", "exp.yaml", "--set", "ensemble.space.x.int=[0, 1]"});
  ASSERT_EQ(ran.status.code, 0) << ran.errors << ran.output;
  EXPECT_THAT(place.Slipway({"trials", "ls"}).output, HasSubstr("complete"));
}

TEST(Ensemble, GoesOnWhenTrialsFailAndFailsWhenAllDo) {
  Workplace place;
  place.WriteSpec("exp.yaml", "[sh, -c, 'test $1 -gt 5 && echo FoM: $1', trial, '{x}']", 1, kEnsemble);
  EXPECT_EQ(place.Slipway({"run", "exp.yaml"}).status.code, 0);
  const auto limited = place.Slipway({"run", "exp.yaml", "--set", "ensemble.max_failures=2"});
  EXPECT_EQ(limited.status.code, 1);
  EXPECT_THAT(limited.output, HasSubstr("more than max_failures"));
}

TEST(Ensemble, ContinuesAfterCtrlC) {
  Workplace place;
  place.WriteSpec("exp.yaml", kCommand, 1, kEnsemble);
  auto run = place.Start({"run", "exp.yaml"});
  place.WaitForFile(place / "done");
  run.Signal(SIGINT);
  ASSERT_EQ(run.Wait().code, 130);
  EXPECT_LT(CompletedRuns(place).size(), kTrials);
  EXPECT_EQ(place.Slipway({"resume", "last"}).status.code, 0);
  const auto runs = CompletedRuns(place);
  EXPECT_EQ(runs.size(), kTrials);
}

TEST(Ensemble, LosesNothingAndRunsNothingTwiceAcrossKillsOfItsManager) {
  Workplace place;
  place.WriteSpec("exp.yaml", kCommand, 1, kEnsemble);
  auto run = place.Start({"run", "exp.yaml"});
  place.WaitForFile(place / "runs");
  for (int kill = 0; kill < 10; ++kill) {
    ::usleep(static_cast<useconds_t>(30'000 + 17'000 * kill));
    run.Signal(SIGKILL);
    run.Wait();
    run = place.Start({"resume", "last"});
  }
  EXPECT_EQ(run.Wait().code, 0) << ReadFile(place / "output.log");
  const auto trials = Json::parse(place.Slipway({"trials", "ls", "--json"}).output);
  EXPECT_EQ(trials["trials"].size(), kTrials);
  for (const auto& trial : trials["trials"]) EXPECT_EQ(trial["state"], "complete");
  EXPECT_EQ(CompletedRuns(place).size(), kTrials);
}

TEST(Ensemble, IsReadableAfterItWasCopiedAway) {
  Workplace place;
  place.WriteSpec("exp.yaml", kCommand, 1, kEnsemble);
  ASSERT_EQ(place.Slipway({"run", "exp.yaml"}).status.code, 0);
  fs::copy(place.RunFolder(), place / "elsewhere", fs::copy_options::recursive);
  EXPECT_THAT(place.Slipway({"trials", "best", "./elsewhere"}).output, HasSubstr("x=3"));
  EXPECT_EQ(place.Slipway({"status", "./elsewhere"}).status.code, 0);
}

}  // namespace
}  // namespace slipway::test
