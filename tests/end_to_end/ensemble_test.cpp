// Ensembles as a user runs them: ranked, interrupted, killed, continued.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

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

TEST(Ensemble, SaysTheLastWordsOfATrialThatFailedAndWhoTellsMore) {
  Workplace place;
  place.WriteSpec("exp.yaml", "[sh, -c, 'echo before >&2; echo no such field >&2; exit 3']", 1, kEnsemble);
  const auto ran = place.Slipway({"run", "exp.yaml", "--set", "ensemble.space.x.int=[0, 1]"});
  EXPECT_EQ(ran.status.code, 1);
  EXPECT_THAT(ran.errors, testing::ContainsRegex("trial +1 .*exit status 3: no such field\n"));
  EXPECT_THAT(ran.output, HasSubstr("slipway explain test-"));
}

TEST(Ensemble, ContinuesAfterCtrlC) {
  Workplace place;
  place.WriteSpec("exp.yaml",
                  "[sh, -c, 'test ! -e done || until test -e go; do sleep 0.05; done; echo FoM: $1; "
                  "basename $SLIPWAY_RUN_DIR >> done', trial, '{x}']",
                  1, kEnsemble);
  auto run = place.Start({"run", "exp.yaml"});
  place.WaitForFile(place / "done");
  run.Signal(SIGINT);
  ASSERT_EQ(run.Wait().code, 130);
  EXPECT_LT(CompletedRuns(place).size(), kTrials);
  place.Write("go", "");
  EXPECT_EQ(place.Slipway({"resume", "last"}).status.code, 0);
  const auto runs = CompletedRuns(place);
  EXPECT_EQ(runs.size(), kTrials);
}

TEST(Ensemble, IsKilledByASecondCtrlC) {
  Workplace place;
  const auto command = "[sh, -c, 'trap \"\" TERM USR1; touch started.$1; while :; do sleep 0.1; done', trial, '{x}']";
  place.WriteSpec("exp.yaml", command, 1, kEnsemble);
  auto run = place.Start({"run", "exp.yaml", "--set", "ensemble.parallel=2", "--set", "checkpoint.signal=USR1"});
  place.WaitForFile(place / "started.0");
  place.WaitForFile(place / "started.1");
  run.Signal(SIGINT);
  place.WaitForWords("stopping 2 trials, which takes up to 15.0 s; Ctrl-C again kills at once");
  ::usleep(300'000);  // no longer the same press
  run.Signal(SIGINT);
  const auto status = run.WaitFor(std::chrono::seconds(10));
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->code, 130);
  place.WaitForWords("killing 2 trials");
  EXPECT_EQ(Json::parse(place.Slipway({"trials", "ls", "--json"}).output)["counts"], (Json{{"queued", 2}}));
}

TEST(Ensemble, MayEndSoonerWithALowerBudget) {
  Workplace place;
  place.WriteSpec("exp.yaml", "[sh, -c, 'touch begun.$1; test -e go || sleep 60; echo FoM: $1', trial, '{x}']", 1,
                  kEnsemble);
  auto run = place.Start({"run", "exp.yaml"});
  for (const char* begun : {"begun.0", "begun.1", "begun.2"}) place.WaitForFile(place / begun);
  run.Signal(SIGINT);
  ASSERT_EQ(run.Wait().code, 130);
  place.Write("go", "");
  const auto resumed = place.Slipway({"resume", "--set", "ensemble.trials=2", "--set", "ensemble.parallel=2"});
  EXPECT_EQ(resumed.status.code, 0) << resumed.errors;
  EXPECT_THAT(resumed.errors, HasSubstr("3 trials have begun, and the budget is 2: no more begin"));
  EXPECT_THAT(resumed.errors, HasSubstr("0 of 3 trials ended, 1 running"));
  EXPECT_THAT(place.Slipway({"trials", "ls"}).output, HasSubstr("3 of 3 trials begun: 3 complete"));
}

TEST(Ensemble, IsReportedWithTheSamplerInTheWordsOfItsSpec) {
  Workplace place;
  place.WriteSpec("exp.yaml", "[sh, -c, 'echo FoM: $1', trial, '{x}']", 1,
                  "  metrics: {from: stdout, pattern: 'FoM: (?<objective>\\S+)'}\n"
                  "ensemble:\n"
                  "  objective: {metric: objective, goal: maximize}\n"
                  "  trials: 2\n"
                  "  space: {x: {int: [0, 1]}}\n");
  ASSERT_EQ(place.Slipway({"run", "exp.yaml"}).status.code, 0);
  const auto sampler = [&] {
    return Json::parse(place.Slipway({"report", "last", "--json"}).output)["runs"][0]["sampler"];
  };
  EXPECT_EQ(sampler(), "auto (grid)");
  ASSERT_EQ(place.Slipway({"run", "exp.yaml", "--set", "ensemble.sampler=grid"}).status.code, 0);
  EXPECT_EQ(sampler(), "grid");
}

/// `launch.time_limit` is the time of one manager.
TEST(Ensemble, GoesOnAfterItsTimeWasUsedUp) {
  Workplace place;
  place.WriteSpec("exp.yaml", "[sh, -c, 'test $1 = 0 || test -e go || sleep 60; echo FoM: $1', trial, '{x}']", 1,
                  "  metrics: {from: stdout, pattern: 'FoM: (?<objective>\\S+)'}\n"
                  "ensemble:\n"
                  "  objective: {metric: objective, goal: maximize}\n"
                  "  sampler: grid\n"
                  "  space: {x: {int: [0, 1]}}\n");
  const auto ran = place.Slipway({"run", "exp.yaml", "--set", "launch.time_limit=5s"});
  ASSERT_EQ(ran.status.code, 0) << ran.errors;
  EXPECT_THAT(ran.output, HasSubstr("its time is used up"));
  place.Write("go", "");
  EXPECT_EQ(place.Slipway({"resume", "last"}).status.code, 0);
  const auto list = [&] { return Json::parse(place.Slipway({"trials", "ls", "--json"}).output); };
  EXPECT_EQ(list()["counts"]["complete"], 2);
  EXPECT_THAT(place.Slipway({"resume", "last"}).output, HasSubstr("there is nothing to resume"));
}

TEST(Ensemble, WhoseBudgetIsUsedUpSaysHowItGoesOn) {
  Workplace place;
  place.WriteSpec("exp.yaml", "[sh, -c, 'sleep 60']", 1, kEnsemble);
  const auto ran = place.Slipway({"run", "exp.yaml", "--set", "ensemble.budget.time=300ms"});
  EXPECT_EQ(ran.status.code, 1);
  EXPECT_THAT(
      ran.output,
      testing::ContainsRegex("its time is used up; with more of it: slipway resume [^ ]+ --set ensemble.budget.time="));
}

TEST(Ensemble, CountsWhatHadEndedBeforeItWasResumed) {
  Workplace place;
  place.WriteSpec("exp.yaml", "[sh, -c, 'test $1 -gt 2 && sleep 0.3; echo FoM: $1', trial, '{x}']", 1, kEnsemble);
  ASSERT_EQ(place.Slipway({"run", "exp.yaml", "--set", "ensemble.trials=3"}).status.code, 0);
  const auto resumed = place.Slipway({"resume", "--set", "ensemble.trials=5"});
  EXPECT_THAT(resumed.errors, HasSubstr("3 of 5 trials ended, 1 running"));
  EXPECT_THAT(resumed.errors, testing::Not(HasSubstr("-1 running")));
}

TEST(Ensemble, LosesNothingAndRunsNothingTwiceAcrossKillsOfItsManager) {
  Workplace place;
  place.WriteSpec("exp.yaml", kCommand, 1, kEnsemble);
  auto run = place.Start({"run", "exp.yaml"});
  place.WaitForWords("run test-");  // there is one to be resumed
  place.WaitForFile(place.RunFolder() / "trials.db");
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

/// Trials of one rank hang on a supervisor, those of several each on an mpirun.
TEST(Ensemble, WithoutItsManagerIsShownWithAWarning) {
  Workplace place;
  place.WriteSpec("exp.yaml", "[sh, -c, 'touch started; sleep 60']", 1, kEnsemble);
  auto run = place.Start({"run", "exp.yaml"});
  place.WaitForFile(place / "started");
  EXPECT_EQ(place.Slipway({"trials", "ls"}).errors, "");
  run.Signal(SIGKILL);
  run.Wait();
  const auto lost = place.Slipway({"trials", "ls"});
  EXPECT_EQ(lost.status.code, 0);
  EXPECT_THAT(lost.errors, AllOf(HasSubstr("the run is lost"), HasSubstr("slipway resume")));
  const auto counts = [&] { return Json::parse(place.Slipway({"trials", "ls", "--json"}).output)["counts"]; };
  for (int i = 0; i < 600 && counts().contains("running"); ++i) {  // they may still save
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  EXPECT_FALSE(counts().contains("running")) << counts();
  EXPECT_GE(counts().value("lost", 0), 1);
  EXPECT_EQ(Json::parse(place.Slipway({"status", "--json"}).output)["trials"]["counts"], counts());
  WriteFile(place.RunFolder() / "state.json", "{");
  const auto damaged = place.Slipway({"trials", "show", "0", place.RunFolder().filename()});
  EXPECT_THAT(damaged.output, HasSubstr("trial 0: lost"));
  EXPECT_THAT(damaged.errors, HasSubstr("state.json is damaged"));
}

TEST(Ensemble, LosesNothingWhereverItsManagerKillsItself) {
  for (const int ranks : {1, 2}) {
    SCOPED_TRACE(fmt::format("{} ranks", ranks));
    Workplace place;
    place.WriteSpec("exp.yaml", kCommand, ranks, kEnsemble);
    const auto killed_at = [&](const char* where, const char* command, const char* what) {
      place.SetVariable("SLIPWAY_CRASH_AT", where);
      EXPECT_EQ(place.Slipway({command, what}).status.signal, SIGKILL) << where;
    };
    killed_at("before_claim_commit:2", "run", "exp.yaml");
    for (const char* where : {"after_claim_commit", "after_prepare:2", "after_running_commit", "after_release:2",
                              "before_tell_commit:2", "after_tell_commit"}) {
      killed_at(where, "resume", "last");
    }
    place.SetVariable("SLIPWAY_CRASH_AT", "nowhere");
    EXPECT_EQ(place.Slipway({"resume", "last"}).status.code, 0);
    const auto trials = Json::parse(place.Slipway({"trials", "ls", "--json"}).output);
    EXPECT_EQ(trials["trials"].size(), kTrials);
    for (const auto& trial : trials["trials"]) EXPECT_EQ(trial["state"], "complete");
    EXPECT_EQ(CompletedRuns(place).size(), kTrials);
  }
}

/// An mpirun that fails before any rank has come says nothing about the trial.
TEST(Ensemble, TriesAStartThatFailedOnceMore) {
  Workplace place;
  place.WriteSpec("exp.yaml", kCommand, 2, kEnsemble);
  place.Write("bin/mpirun",
              "#!/bin/sh\n"
              "if [ \"$1\" != --version ] && mkdir \"$0.failed\" 2> /dev/null; then echo no room; exit 1; fi\n"
              "PATH=${PATH#*:} exec mpirun \"$@\"\n");
  fs::permissions(place / "bin/mpirun", fs::perms(0755));
  place.SetVariable("PATH", (place / "bin").string() + ":" + std::getenv("PATH"));
  ASSERT_EQ(place.Slipway({"run", "exp.yaml"}).status.code, 0);
  EXPECT_EQ(CompletedRuns(place).size(), kTrials);
  const auto ended = Json::parse(place.Slipway({"trials", "ls", "--json"}).output);
  int again = 0;
  for (const auto& trial : ended["trials"]) {
    EXPECT_EQ(trial["state"], "complete");
    if (trial["attempts"] == 1) continue;
    ++again;
    const auto shown = Json::parse(place.Slipway({"trials", "show", trial["trial"].dump(), "--json"}).output);
    EXPECT_THAT(shown.dump(),
                testing::AllOf(HasSubstr("not_started"), HasSubstr("tried once more"), HasSubstr("no room")));
  }
  EXPECT_EQ(again, 1);
}

TEST(Ensemble, ShowsInThePlanWhatItsTrialsGet) {
  Workplace place;
  place.WriteSpec("exp.yaml", kCommand, 1, std::string(kEnsemble) + "  repeats: 2\n");
  const auto repeated = place.Slipway({"plan", "exp.yaml"}).output;
  EXPECT_THAT(repeated, testing::AllOf(HasSubstr("each configuration 2 times"), HasSubstr("SLIPWAY_REPEAT=0\n"),
                                       testing::Not(HasSubstr("SLIPWAY_RESOURCE"))));
  place.WriteSpec("exp.yaml", kCommand, 1,
                  std::string(kEnsemble) + "  scheduler: {type: asha, min: 2, max: 18}\n  select: {top: 3}\n");
  EXPECT_THAT(place.Slipway({"plan", "exp.yaml"}).output,
              testing::AllOf(HasSubstr("scheduler asha, from epoch 2 on, a whole trial has 18"),
                             HasSubstr("model ensemble of 3 trials at most, chosen by method greedy"),
                             HasSubstr("SLIPWAY_RESOURCE=epoch\n"), HasSubstr("SLIPWAY_RESOURCE_LIMIT=2\n")));
}

TEST(Ensemble, PlanNamesTheIntervalOfTheScheduler) {
  Workplace place;
  place.WriteSpec("exp.yaml", kCommand, 1, std::string(kEnsemble) + "  scheduler: {type: median, interval: 2}\n");
  EXPECT_THAT(place.Slipway({"plan", "exp.yaml"}).output,
              HasSubstr("scheduler median, from epoch 1 on, with an interval of 2\n"));
}

TEST(Ensemble, PlanCountsTheTrialsOfAGrid) {
  Workplace place;
  place.WriteSpec("exp.yaml", kCommand, 1, kEnsemble);
  EXPECT_THAT(place.Slipway({"plan", "exp.yaml"}).output, HasSubstr("12 trials, 3 at a time, sampler grid"));
  EXPECT_THAT(
      place.Slipway({"plan", "exp.yaml", "--set", "ensemble.sampler=auto", "--set", "ensemble.trials=12"}).output,
      HasSubstr("sampler auto (grid)"));
  EXPECT_EQ(Json::parse(place.Slipway({"plan", "exp.yaml", "--json"}).output)["trials"], 12);
}

TEST(Ensemble, PlanSaysWhereAGridHasFewerPointsThanTrialsAreAllowed) {
  Workplace place;
  place.WriteSpec("exp.yaml", kCommand, 1, std::string(kEnsemble) + "  trials: 20\n  constraints: [x != 5]\n");
  EXPECT_THAT(place.Slipway({"plan", "exp.yaml"}).output,
              HasSubstr("11 trials (the grid has no more; 20 are allowed), 3 at a time, sampler grid"));
  EXPECT_EQ(Json::parse(place.Slipway({"plan", "exp.yaml", "--json"}).output)["trials"], 11);
  ASSERT_EQ(place.Slipway({"run", "exp.yaml"}).status.code, 0);
  EXPECT_EQ(Json::parse(place.Slipway({"trials", "ls", "last", "--json"}).output)["trials"].size(), 11u);
}

TEST(Ensemble, PlanSaysSoWhereItDoesNotCountTheTrials) {
  Workplace place;
  place.WriteSpec("exp.yaml", kCommand, 1,
                  std::string(kEnsemble) + "  trials: 20\n  constraints: ['x < 5 or x > 50000000']\n");
  EXPECT_THAT(place.Slipway({"plan", "exp.yaml", "--set", "ensemble.space.x.int=[0, 100000000]"}).output,
              HasSubstr("20 trials at most, 3 at a time, sampler grid"));
}

TEST(Ensemble, AnEnqueuedConfigurationNamesEachParameterOnce) {
  Workplace place;
  place.WriteSpec("exp.yaml", kCommand, 1, kEnsemble);
  ASSERT_EQ(place.Slipway({"run", "exp.yaml", "--set", "ensemble.trials=3"}).status.code, 0);
  const auto refused = place.Slipway({"trials", "enqueue", "last", "-p", "x=9", "-p", "x=8"});
  EXPECT_EQ(refused.status.code, 2);
  EXPECT_THAT(refused.errors, HasSubstr("'x' is given twice"));
}

TEST(Ensemble, AGridRunsNothingAgainThatWasEnqueued) {
  Workplace place;
  place.WriteSpec("exp.yaml", kCommand, 1, kEnsemble);
  ASSERT_EQ(place.Slipway({"run", "exp.yaml", "--set", "ensemble.trials=3"}).status.code, 0);
  ASSERT_EQ(place.Slipway({"trials", "enqueue", "last", "-p", "x=7"}).status.code, 0);
  ASSERT_EQ(place.Slipway({"resume", "last", "--set", "ensemble.trials=20"}).status.code, 0);
  std::map<int, int> runs;
  const auto trials = Json::parse(place.Slipway({"trials", "ls", "last", "--json"}).output)["trials"];
  for (const auto& trial : trials) ++runs[trial["parameters"]["x"].get<int>()];
  EXPECT_EQ(runs.size(), 12u);
  EXPECT_EQ(trials.size(), 12u) << "each value once";
}

TEST(Ensemble, ShowsConstraintsAndFirstPointsInThePlan) {
  Workplace place;
  place.WriteSpec("exp.yaml", kCommand, 1,
                  std::string(kEnsemble) +
                      "  constraints: [x != 5]\n  points: [{x: 3}, {x: 4}, {x: 3}, {x: 8}, {x: 9}, {x: 10}]\n");
  EXPECT_THAT(place.Slipway({"plan", "exp.yaml"}).output, HasSubstr("  x            {\"int\":[0,11]}\n"
                                                                    "  where        x != 5\n"
                                                                    "  first        x=3\n"
                                                                    "  then         x=4\n"
                                                                    "  then         x=8\n"
                                                                    "               2 more\n"));
}

TEST(Ensemble, SaysWhichReportsOfATrialNobodyCouldRead) {
  Workplace place;
  place.WriteSpec("exp.yaml",
                  "[sh, -c, 'printf \"%s\\n%0200000d\\n\" \"{\\\"metrics\\\":{\\\"loss\\\":1}}\" 0 \"loss = 2\" 0 >> "
                  "$SLIPWAY_METRICS']",
                  1,
                  "ensemble:\n  objective: {metric: loss, goal: minimize}\n  trials: 1\n  sampler: grid\n"
                  "  space: {x: {int: [0, 1]}}\n");
  ASSERT_EQ(place.Slipway({"run", "exp.yaml"}).status.code, 0);
  const auto shown = place.Slipway({"trials", "show", "0", "last"});
  EXPECT_THAT(shown.errors, HasSubstr("warning: 3 lines of attempt 1's metrics.jsonl could not be read; line 2: it is "
                                      "longer than 64 KiB\n"));
  const auto document = Json::parse(place.Slipway({"trials", "show", "0", "last", "--json"}).output);
  EXPECT_EQ(document["unread_metrics"][0]["lines"], 3);
  EXPECT_EQ(document["unread_metrics"][0]["first"], 2);
}

TEST(Ensemble, ANullReachesProgramAndBook) {
  Workplace place;
  place.WriteSpec("exp.yaml", "[sh, -c, 'test \"$1\" = null && echo FoM: 1 $SLIPWAY_PARAMS', trial, '{c}']", 1,
                  "  metrics: {from: stdout, pattern: 'FoM: (?<objective>\\S+)'}\n"
                  "ensemble:\n"
                  "  objective: {metric: objective, goal: maximize}\n"
                  "  sampler: grid\n"
                  "  space: {c: {choice: [null]}, d: {fixed: null}}\n");
  const auto ran = place.Slipway({"run", "exp.yaml"});
  ASSERT_EQ(ran.status.code, 0) << ran.errors;
  EXPECT_THAT(place.Slipway({"logs", "last", "--trial", "0"}).output, HasSubstr(R"({"c":null,"d":null})"));
  const auto best = Json::parse(place.Slipway({"trials", "best", "--json"}).output);
  EXPECT_TRUE(best["trials"][0]["parameters"]["c"].is_null());
  ASSERT_TRUE(place.Slipway({"trials", "export", "last", "--format", "optuna", "--out", "study.db"}).status.Success());
  const auto imported = Json::parse(place.Slipway({"trials", "import", "exp.yaml", "study.db", "--json"}).output);
  EXPECT_EQ(imported["imported"], 1);
}

TEST(Ensemble, OfLoneRanksIsPlannedAsWhatRuns) {
  Workplace place;
  place.WriteSpec("exp.yaml", kCommand, 1, kEnsemble);
  const auto plan = Json::parse(place.Slipway({"plan", "exp.yaml", "--json"}).output);
  EXPECT_EQ(plan["command"][0], "sh") << "no shim is executed for it";
}

TEST(Ensemble, IsReadableAfterItWasCopiedAway) {
  Workplace place;
  place.WriteSpec("exp.yaml", kCommand, 1, kEnsemble);
  ASSERT_EQ(place.Slipway({"run", "exp.yaml"}).status.code, 0);
  fs::copy(place.RunFolder(), place / "elsewhere", fs::copy_options::recursive);
  EXPECT_THAT(place.Slipway({"trials", "best", "./elsewhere"}).output, HasSubstr("x=3"));
  EXPECT_EQ(place.Slipway({"status", "./elsewhere"}).status.code, 0);
}

/// Each trial leaves a session behind; those of others that still run are left alone.
TEST(Ensemble, EndsWhatEachTrialLeavesRunningInASessionOfItsOwn) {
  Workplace place;
  place.Write("watch.sh",
              "if test $1 = 1; then setsid sleep 60 & echo $! > stray; echo FoM: 1; exit; fi\n"
              "setsid sleep 60 & echo $! > mine\n"
              "until test -e stray && ! kill -0 $(cat stray) 2> /dev/null; do sleep 0.05; done\n"
              "kill -0 $(cat mine) && echo FoM: 7\n");
  place.WriteSpec("exp.yaml", "[sh, watch.sh, '{x}']", 1,
                  "  metrics: {from: stdout, pattern: 'FoM: (?<objective>\\S+)'}\n"
                  "ensemble:\n  objective: {metric: objective, goal: maximize}\n  sampler: grid\n  trials: 2\n"
                  "  parallel: 2\n  space: {x: {choice: [1, 2]}}\n");
  const auto ran = place.Slipway({"run", "exp.yaml", "--json"});
  ASSERT_EQ(ran.status.code, 0) << ran.output << ran.errors;
  EXPECT_EQ(Json::parse(ran.output)["best"]["objective"], 7) << "what the other trial had started was ended";
  EXPECT_FALSE(IsAlive(IdentityOf(std::stoi(ReadFile(place / "mine")))));
}

TEST(Ensemble, ShowsItsCountsAndItsBestInItsStatus) {
  Workplace place;
  place.WriteSpec("exp.yaml", "[sh, -c, 'test $1 = 3 && exit 1; echo FoM: $1', trial, '{x}']", 1,
                  "  metrics: {from: stdout, pattern: 'FoM: (?<objective>\\S+)'}\n"
                  "ensemble:\n  objective: {metric: objective, goal: maximize}\n  sampler: grid\n  trials: 3\n"
                  "  space: {x: {choice: [1, 2, 3]}}\n");
  place.Slipway({"run", "exp.yaml"});
  const auto shown = place.Slipway({"status"}).output;
  EXPECT_THAT(shown, HasSubstr("2 complete"));
  EXPECT_THAT(shown, HasSubstr("1 failed"));
  EXPECT_THAT(shown, HasSubstr("of 3"));
  EXPECT_THAT(shown, HasSubstr("best    objective 2  trial 1  x=2"));
  const auto trials = place.Status()["trials"];
  EXPECT_EQ(trials["budget"], 3);
  EXPECT_EQ(trials["counts"]["failed"], 1);
  EXPECT_EQ(trials["best"]["trial"], 1);
}

}  // namespace
}  // namespace slipway::test
