// The main job as a user does it: one spec, the real program, real ranks.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <thread>

#include "core/files.h"
#include "tests/end_to_end/workplace.h"

namespace slipway::test {
namespace {
namespace fs = std::filesystem;

using testing::HasSubstr;

constexpr auto kSleeper = "[sh, -c, 'touch started; sleep 60']";

TEST(Run, ShowsTheRanksLinesAndSucceeds) {
  Workplace place;
  place.WriteSpec("exp.yaml", "[sh, -c, 'echo hello from $RANK of $WORLD_SIZE']", 2);
  const auto ran = place.Slipway({"run", "exp.yaml"});
  EXPECT_EQ(ran.status.code, 0) << ran.errors;
  EXPECT_THAT(ran.output, HasSubstr("[0] hello from 0 of 2"));
  EXPECT_THAT(ran.output, HasSubstr("[1] hello from 1 of 2"));
  EXPECT_EQ(place.Status()["phase"], "succeeded");
}

TEST(Run, LeavesOutThePrefixOnRequest) {
  Workplace place;
  place.WriteSpec("exp.yaml", "[echo, plain]");
  EXPECT_THAT(place.Slipway({"run", "exp.yaml", "--no-prefix"}).output, testing::StartsWith("plain\n"));
}

TEST(Run, GivesTheProgramItsArgumentsAndItsEnvironment) {
  Workplace place;
  place.WriteSpec("exp.yaml", "[sh, -c, 'echo $SLIPWAY_PARAMS; echo \"$@\"; test -d $SLIPWAY_CHECKPOINT_DIR', program]",
                  1, "  args: {lr: 0.01, name: 'two words; $(touch pwned)'}");
  const auto ran = place.Slipway({"run", "exp.yaml", "--no-prefix"});
  EXPECT_EQ(ran.status.code, 0) << ran.errors;
  EXPECT_THAT(ran.output, HasSubstr(R"x({"lr":0.01,"name":"two words; $(touch pwned)"})x"));
  EXPECT_THAT(ran.output, HasSubstr("--lr 0.01 --name two words; $(touch pwned)"));
  EXPECT_FALSE(fs::exists(place / "pwned"));
}

TEST(Run, FindsMetricsInTheOutputOfAnyProgram) {
  Workplace place;
  place.WriteSpec("exp.yaml", "[sh, -c, 'echo FoM: 0.5; echo FoM: 0.25']", 1,
                  "  metrics: {from: stdout, pattern: 'FoM: (?<objective>\\S+)'}");
  const auto ran = place.Slipway({"run", "exp.yaml", "--json"});
  ASSERT_EQ(ran.status.code, 0) << ran.errors;
  EXPECT_EQ(Json::parse(ran.output)["metrics"]["objective"], 0.25);
}

TEST(Run, NamesTheRankThatFailedAndShowsTheEndOfItsLog) {
  Workplace place;
  place.WriteSpec("exp.yaml", "[sh, -c, 'echo before; if [ $RANK = 1 ]; then echo broken >&2; exit 3; fi; sleep 60']",
                  2);
  const auto ran = place.Slipway({"run", "exp.yaml"});
  EXPECT_EQ(ran.status.code, 1);
  EXPECT_THAT(ran.output, HasSubstr("rank 1 on"));
  EXPECT_THAT(ran.output, HasSubstr("exit status 3"));
  EXPECT_THAT(ran.output, HasSubstr("broken"));
  const auto status = place.Slipway({"status"});
  EXPECT_EQ(status.status.code, 1);
  EXPECT_THAT(status.output, HasSubstr("rank 1 on"));
}

TEST(Run, NamesTheSignalThatEndedARank) {
  Workplace place;
  place.WriteSpec("exp.yaml", "[sh, -c, 'kill -SEGV $$']");
  const auto ran = place.Slipway({"run", "exp.yaml"});
  EXPECT_EQ(ran.status.code, 1);
  EXPECT_THAT(ran.output, HasSubstr("signal 11 (SIGSEGV)"));
}

TEST(Run, RefusesAProgramThatDoesNotExistBeforeAnythingStarts) {
  Workplace place;
  place.WriteSpec("exp.yaml", "[no-such-program]");
  const auto ran = place.Slipway({"run", "exp.yaml"});
  EXPECT_EQ(ran.status.code, 3);
  EXPECT_THAT(ran.errors, HasSubstr("no-such-program"));
  EXPECT_FALSE(fs::exists(place / "runs"));
}

TEST(Run, SaysWhatToInstallWhenThereIsNoMpi) {
  Workplace place;
  place.WriteSpec("exp.yaml", "[/bin/true]", 2);
  place.SetVariable("PATH", (place / "bin").string());
  const auto ran = place.Slipway({"run", "exp.yaml"});
  EXPECT_EQ(ran.status.code, 3);
  EXPECT_THAT(ran.errors, HasSubstr("mpirun"));
  EXPECT_THAT(ran.errors, HasSubstr("openmpi-bin"));
}

TEST(Run, CancelsOnCtrlC) {
  Workplace place;
  place.WriteSpec("exp.yaml", kSleeper, 2);
  auto run = place.Start(
      {"run", "exp.yaml", "--set", "train.metrics.from=stdout", "--set", "train.metrics.pattern='(?<x>\\d+)'"});
  place.WaitForFile(place / "started");
  run.Signal(SIGINT);
  const auto status = run.WaitFor(std::chrono::seconds(50));
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->code, 130);
  EXPECT_EQ(place.Status()["phase"], "cancelled");
}

TEST(Run, IsKilledByASecondCtrlC) {
  Workplace place;
  place.WriteSpec("exp.yaml", "[sh, -c, 'trap \"\" TERM; touch started.$RANK; while :; do sleep 0.1; done']", 2);
  auto run = place.Start({"run", "exp.yaml"});  // its metrics come from the runtime: it has time to save
  place.WaitForFile(place / "started.0");
  place.WaitForFile(place / "started.1");
  run.Signal(SIGINT);
  place.WaitForWords("stopping the ranks, which takes up to 15.0 s; Ctrl-C again kills at once");
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // no longer the same press
  run.Signal(SIGINT);
  const auto status = run.WaitFor(std::chrono::seconds(10));
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->code, 130);
  place.WaitForWords("killing the ranks");
  EXPECT_EQ(place.Status()["phase"], "cancelled");
}

TEST(Run, CancelsAtAnyMoment) {
  Workplace place;
  place.WriteSpec("exp.yaml", "[sleep, '60']", 2);
  for (const int milliseconds : {0, 5, 15, 30, 60, 120}) {
    auto run = place.Start(
        {"run", "exp.yaml", "--set", "train.metrics.from=stdout", "--set", "train.metrics.pattern='(?<x>\\d+)'"});
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    run.Signal(SIGTERM);
    const auto status = run.WaitFor(std::chrono::seconds(50));
    ASSERT_TRUE(status.has_value()) << milliseconds;
    // Before the run exists, the signal ends the program as it ends any other.
    EXPECT_TRUE(status->code == 130 || status->signal == SIGTERM) << milliseconds << ": " << status->Describe();
  }
  const auto listed = Json::parse(place.Slipway({"ls", "--json"}).output);
  for (const auto& run : listed["runs"]) EXPECT_EQ(run["phase"], "cancelled");
}

TEST(Run, StartsAgainAfterAFailureAsOftenAsAllowed) {
  Workplace place;
  place.WriteSpec("exp.yaml", "[sh, -c, 'test $SLIPWAY_ATTEMPT = 3']", 1, "resilience: {max_restarts: 2}");
  EXPECT_EQ(place.Slipway({"run", "exp.yaml"}).status.code, 0);
  EXPECT_EQ(place.Status()["attempt"], 3);
}

TEST(Run, EndsAtItsTimeLimit) {
  Workplace place;
  place.WriteSpec("exp.yaml", "[sleep, '60']", 1, "  metrics: {from: stdout, pattern: '(?<x>\\d+)'}");
  const auto ran = place.Slipway({"run", "exp.yaml", "--set", "launch.time_limit=1s"});
  EXPECT_EQ(ran.status.code, 1);
  EXPECT_THAT(ran.output, HasSubstr("time limit of 1.0 s reached"));
}

TEST(Run, SucceedsWhenItsProgramIsDoneInTheTimeToSave) {
  const auto start = [](const Workplace& place, const std::string& last_words, const std::string& on_time_limit) {
    place.Write("progress.sh", "echo '{\"step\": 1, \"metrics\": {\"x\": 2}}' >> $SLIPWAY_METRICS\n");
    place.WriteSpec("exp.yaml",
                    "[sh, -c, 'until test -e $SLIPWAY_STOP_FILE; do sleep 0.05; done; " + last_words + "']");
    return place.Start(
        {"run", "exp.yaml", "--set", "launch.time_limit=3s", "--set", "checkpoint.on_time_limit=" + on_time_limit});
  };
  const Workplace stop, requeue, unfinished;  // all wait for their limit at once
  auto stops = start(stop, "sh $SLIPWAY_SPEC_DIR/progress.sh", "stop");
  auto requeues = start(requeue, "sh $SLIPWAY_SPEC_DIR/progress.sh", "requeue");
  // As libslipway does when the program hears of the request.
  auto stopped = start(unfinished, "touch $SLIPWAY_STOP_FILE.seen", "stop");
  for (const auto& [place, run] : {std::pair(&stop, &stops), std::pair(&requeue, &requeues)}) {
    EXPECT_EQ(run->Wait().code, 0) << ReadFile(*place / "output.log");
    EXPECT_EQ(place->Status()["phase"], "succeeded");
    EXPECT_EQ(place->Status()["attempt"], 1);
  }
  EXPECT_EQ(stopped.Wait().code, 1);
  EXPECT_THAT(ReadFile(unfinished / "output.log"), HasSubstr("time limit of 3.0 s reached"));
}

TEST(Run, GoesOnAfterItsTimeLimitAndSaysSo) {
  Workplace place;
  place.WriteSpec("exp.yaml", "[sh, -c, 'echo step $SLIPWAY_ATTEMPT x 1; test $SLIPWAY_ATTEMPT != 1 || sleep 60']", 1,
                  "  metrics: {from: stdout, pattern: 'step (?<step>\\d+) x (?<x>\\d+)'}");
  const auto ran =
      place.Slipway({"run", "exp.yaml", "--set", "launch.time_limit=3s", "--set", "checkpoint.on_time_limit=requeue"});
  EXPECT_EQ(ran.status.code, 0) << ran.output << ran.errors;
  EXPECT_THAT(ran.output + ran.errors, HasSubstr("attempt 1 ended: time limit of 3.0 s reached; starting again"));
}

TEST(Run, IsToldBySignalToSaveBeforeItsTimeLimit) {
  Workplace place;
  place.WriteSpec("exp.yaml", "[sh, -c, 'trap \"echo 7 > saved; exit 75\" USR1; while :; do sleep 0.1; done']", 1,
                  "  metrics: {from: stdout, pattern: '(?<x>\\d+)'}");
  const auto ran =
      place.Slipway({"run", "exp.yaml", "--set", "launch.time_limit=5s", "--set", "checkpoint.signal=USR1"});
  EXPECT_EQ(ran.status.code, 1);
  EXPECT_THAT(ran.output, HasSubstr("time limit of 5.0 s reached"));
  EXPECT_EQ(ReadFileIfPresent(place / "saved"), "7\n");
}

TEST(Run, GivesAProgramThatAsksForItAnotherTurn) {
  Workplace place;
  place.WriteSpec("exp.yaml", "[sh, -c, 'echo . >> saved; test $(wc -l < saved) = 3 || exit 75']");
  const auto ran = place.Slipway({"run", "exp.yaml"});
  EXPECT_EQ(ran.status.code, 0) << ran.output << ran.errors;
  EXPECT_EQ(place.Status()["attempt"], 3);
}

TEST(Run, EndsAProgramThatAsksForTurnsWithoutEnd) {
  Workplace place;
  // Lines without a step of the program's own are no progress: each turn prints them again.
  place.WriteSpec("exp.yaml", "[sh, -c, 'echo x 1; exit 75']", 1, "  metrics: {from: stdout, pattern: 'x (?<x>\\d+)'}");
  const auto ran = place.Slipway({"run", "exp.yaml"});
  EXPECT_EQ(ran.status.code, 1);
  EXPECT_THAT(ran.output, HasSubstr("21 times in a row it asked to be started again and showed no progress"));
  EXPECT_EQ(place.Status()["attempt"], 21);
}

/// A session of its own: the signals of its group do not reach it.
constexpr auto kLeavesASession =
    "setsid sh -c 'trap \"echo told > told\" TERM; touch ready; while :; do sleep 0.1; done' & echo $! > stray; "
    "until [ -e ready ]; do sleep 0.05; done; touch up; ";

pid_t StrayOf(const Workplace& place) { return std::stoi(ReadFile(place / "stray")); }

TEST(Run, EndsWhatItsProgramLeavesRunningInASessionOfItsOwn) {
  for (const int ranks : {1, 2}) {
    Workplace place;
    place.Write("train.sh", kLeavesASession);
    place.WriteSpec("exp.yaml", "[sh, train.sh]", ranks);
    const auto ran = place.Slipway({"run", "exp.yaml"});
    EXPECT_EQ(ran.status.code, 0) << ran.errors;
    EXPECT_FALSE(IsAlive(IdentityOf(StrayOf(place))));
    // A parent in the same group may be found, too, before the signal to the group has ended it.
    EXPECT_THAT(ran.output, HasSubstr(" that the program had left running: "));
  }
}

TEST(Run, EndsSessionsOfItsProgramAtTheTimeLimit) {
  Workplace place;
  place.Write("train.sh", std::string(kLeavesASession) + "wait; while :; do sleep 0.1; done");
  place.WriteSpec("exp.yaml", "[sh, train.sh]", 1, "  metrics: {from: stdout, pattern: '(?<x>\\d+)'}");
  const auto ran = place.Slipway({"run", "exp.yaml", "--set", "launch.time_limit=5s"});
  EXPECT_THAT(ran.output, HasSubstr("time limit of 5.0 s reached"));
  EXPECT_FALSE(IsAlive(IdentityOf(StrayOf(place))));
}

/// The program itself, a shell, ends at the first signal; what it has started saves.
TEST(Run, GivesWhatItsProgramHasStartedTheGraceTimeAtTheTimeLimit) {
  const Workplace places[2];  // of one rank and of two, which wait for their limit at once
  std::vector<ChildProcess> runs;
  for (const auto& place : places) {
    place.Write("save.sh", "trap 'sleep 1; touch saved-$1.$RANK; exit' TERM\nwhile :; do sleep 0.1; done\n");
    place.Write("train.sh", "setsid sh save.sh session &\nsh save.sh group &\nsleep 60\n");
    const int ranks = static_cast<int>(runs.size()) + 1;
    place.WriteSpec("exp.yaml", "[sh, train.sh]", ranks, "  metrics: {from: stdout, pattern: '(?<x>\\d+)'}");
    runs.push_back(place.Start({"run", "exp.yaml", "--set", "launch.time_limit=5s"}));
  }
  for (auto& run : runs) run.Wait();
  for (const auto& place : places) place.WaitForWords("time limit of 5.0 s reached");
  for (const auto* saved : {"saved-session.0", "saved-group.0"}) EXPECT_TRUE(fs::exists(places[0] / saved)) << saved;
  for (const auto* saved : {"saved-session.0", "saved-group.0", "saved-session.1", "saved-group.1"}) {
    EXPECT_TRUE(fs::exists(places[1] / saved)) << saved;
  }
}

TEST(Run, EndsSessionsOfItsProgramWhenItsManagerIsKilled) {
  Workplace place;
  place.Write("train.sh", std::string(kLeavesASession) + "sleep 60");
  place.WriteSpec("exp.yaml", "[sh, train.sh]");
  auto run = place.Start({"run", "exp.yaml"});
  place.WaitForFile(place / "up");
  const auto stray = IdentityOf(StrayOf(place));
  run.Signal(SIGKILL);
  run.Wait();
  for (int i = 0; i < 1000 && IsAlive(stray); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_FALSE(IsAlive(stray));
}

TEST(Run, KeepsTheLastMetricsOfASubmittedRunInItsState) {
  Workplace place;
  place.WriteSpec("exp.yaml", "[sh, -c, 'echo loss: 0.5; echo loss: 0.25']", 1,
                  "  metrics: {from: stdout, pattern: 'loss: (?<loss>\\S+)'}");
  ASSERT_EQ(place.Slipway({"submit", "exp.yaml"}).status.code, 0);
  const auto waited = place.Slipway({"wait"});
  EXPECT_THAT(waited.output, HasSubstr("loss                     0.25"));
  EXPECT_EQ(place.Status()["metrics"]["loss"], 0.25);
}

TEST(Run, ReadsAsLostWhenItsManagerWasKilledAndResumes) {
  Workplace place;
  place.WriteSpec("exp.yaml", "[sh, -c, 'touch started; test $SLIPWAY_ATTEMPT = 2 || sleep 60']", 2);
  auto run = place.Start({"run", "exp.yaml"});
  place.WaitForFile(place / "started");
  run.Signal(SIGKILL);
  run.Wait();
  const auto status = place.Slipway({"status", "--json"});
  EXPECT_EQ(status.status.code, 1);
  EXPECT_EQ(Json::parse(status.output)["phase"], "lost");
  const auto resumed = place.Slipway({"resume", "last"});
  EXPECT_EQ(resumed.status.code, 0) << resumed.errors << resumed.output;
  EXPECT_EQ(place.Status()["attempt"], 2);
}

TEST(Run, OfAnotherVersionIsNotResumed) {
  Workplace place;
  place.WriteSpec("exp.yaml", "['false']");
  ASSERT_EQ(place.Slipway({"run", "exp.yaml"}).status.code, 1);
  auto plan = Json::parse(ReadFile(place.RunFolder() / "plan.json"));
  plan["spec"]["gradients"].erase("lag");
  WriteFile(place.RunFolder() / "plan.json", plan.dump());
  const auto resumed = place.Slipway({"resume", "last"});
  EXPECT_EQ(resumed.status.code, 3);
  EXPECT_THAT(resumed.errors, HasSubstr("plan.json' is not of this version of Slipway"));
  EXPECT_THAT(resumed.errors, HasSubstr("slipway run " + (place.RunFolder() / "spec.yaml").string()));
}

TEST(Run, AnswersAUsageErrorWithTwo) {
  Workplace place;
  EXPECT_EQ(place.Slipway({"run"}).status.code, 2);
  EXPECT_EQ(place.Slipway({"runn", "exp.yaml"}).status.code, 2);
  EXPECT_EQ(place.Slipway({"status", "nothing"}).status.code, 2);
  const auto json = place.Slipway({"status", "nothing", "--json"});
  EXPECT_EQ(Json::parse(json.output)["schema"], "slipway.error/1");
}

TEST(Submit, OutlivesTheTerminalAndCanBeWaitedFor) {
  Workplace place;
  place.WriteSpec("exp.yaml", "[sh, -c, 'until test -e go; do sleep 0.05; done; echo done']");
  const auto submitted = place.Slipway({"submit", "exp.yaml", "-q"});
  ASSERT_EQ(submitted.status.code, 0) << submitted.errors;
  const auto id = submitted.output.substr(0, submitted.output.find('\n'));
  EXPECT_EQ(place.Slipway({"wait", id, "--timeout", "20ms"}).status.code, 75);
  EXPECT_EQ(place.Shell("touch go; \"$0\" wait " + id).status.code, 0);
  EXPECT_EQ(place.Slipway({"logs", id}).output, "[0] done\n");
}

TEST(Submit, CanBeFollowedAndCancelled) {
  Workplace place;
  place.WriteSpec("exp.yaml", "[sh, -c, 'echo begun; touch started; sleep 60']", 1,
                  "  metrics: {from: stdout, pattern: '(?<x>\\d+)'}");
  ASSERT_EQ(place.Slipway({"submit", "exp.yaml"}).status.code, 0);
  auto logs = place.Start({"logs", "-f"});
  place.WaitForFile(place / "started");
  EXPECT_EQ(place.Slipway({"cancel", "last"}).status.code, 0);
  ASSERT_TRUE(logs.WaitFor(std::chrono::seconds(60)).has_value());
  EXPECT_EQ(ReadFile(place / "output.log"), "[0] begun\n");
  EXPECT_EQ(place.Slipway({"status"}).status.code, 130);
}

TEST(Submit, RefusesASecondManager) {
  Workplace place;
  place.WriteSpec("exp.yaml", kSleeper, 1, "  metrics: {from: stdout, pattern: '(?<x>\\d+)'}");
  ASSERT_EQ(place.Slipway({"submit", "exp.yaml"}).status.code, 0);
  place.WaitForFile(place / "started");
  const auto resumed = place.Slipway({"resume", "last"});
  EXPECT_EQ(resumed.status.code, 4);
  EXPECT_THAT(resumed.errors, HasSubstr("is managed by process"));
  place.Slipway({"cancel", "last"});
}

TEST(Template, RunsAsItIs) {
  Workplace place;
  const std::string spec = SLIPWAY_SOURCE_DIR "/templates/command.yaml";
  const auto ran = place.Slipway({"run", spec, "--engine", "local", "--json"});
  ASSERT_EQ(ran.status.code, 0) << ran.errors;
  EXPECT_EQ(Json::parse(ran.output)["metrics"]["loss"], 0.01);
}

TEST(Bench, ListsTheBenchmarksOfThisInstallation) {
  Workplace place;
  const auto helped = place.Slipway({"bench", "--help"});
  EXPECT_EQ(helped.status.code, 0);
  EXPECT_THAT(helped.output, HasSubstr("\n  slipway bench launch\n"));
  EXPECT_THAT(place.Slipway({"completion", "bash"}).output, HasSubstr("\"bench launch\""));

  const auto wrong = place.Slipway({"bench", "lunch"});
  EXPECT_EQ(wrong.status.code, 2);
  EXPECT_THAT(wrong.errors, HasSubstr("there is no benchmark 'lunch'"));
  EXPECT_THAT(wrong.errors, HasSubstr("launch"));
  EXPECT_THAT(wrong.errors, HasSubstr("build the others with: cmake --build " SLIPWAY_BUILD_DIR));
  EXPECT_EQ(place.Slipway({"bench"}).status.code, 2);
}

TEST(Bench, LeavesTheHelpOfABenchmarkToIt) {
  Workplace place;
  for (const char* flag : {"--help", "-h"}) {
    const auto helped = place.Slipway({"bench", "launch", flag});
    EXPECT_EQ(helped.status.code, 0);
    EXPECT_THAT(helped.output, HasSubstr("Usage: slipway bench launch [--slurm] [--json]"));
  }
}

TEST(Bench, HandsTheOptionsToTheBenchmark) {
  Workplace place;
  for (const bool first : {false, true}) {
    std::vector<std::string> words{"bench", "allreduce", "--ranks", "2", "--sizes", "4096", "--rounds", "3"};
    words.insert(first ? words.begin() : words.end(), "--json");
    const auto ran = place.Slipway(words);
    ASSERT_EQ(ran.status.code, 0) << ran.errors;
    const auto document = Json::parse(ran.output);
    EXPECT_EQ(document["schema"], "slipway.bench.allreduce/1");
    ASSERT_EQ(document["rows"].size(), 2u);
    for (const auto& row : document["rows"]) {
      EXPECT_EQ(row["ranks"], 2);
      EXPECT_EQ(row["bytes"], 4096);
      EXPECT_GT(row["mpi_median_us"], 0);
      EXPECT_NEAR(row["speedup"], row["mpi_median_us"].get<double>() / row["median_us"].get<double>(), 0.02);
    }
  }
}

TEST(Plan, ShowsTheCommandAndStartsNothing) {
  Workplace place;
  place.WriteSpec("exp.yaml", "[python3, train.py]", 2, "  args: {lr: 0.1}");
  const auto planned = place.Slipway({"plan", "exp.yaml"});
  EXPECT_EQ(planned.status.code, 0) << planned.errors;
  EXPECT_THAT(planned.output, HasSubstr("mpirun -n 2"));
  EXPECT_THAT(planned.output, HasSubstr("python3 train.py --lr 0.1"));
  EXPECT_FALSE(fs::exists(place / "runs"));
}

std::string ReplaceAll(std::string text, const std::string& what, const std::string& with) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
  return text;
}

/// A plan without what differs from machine to machine and from user to user.
std::string Portable(std::string plan, const Workplace& place) {
  plan = ReplaceAll(plan, place / "", "PLACE/");
  plan = ReplaceAll(plan, (place / "").parent_path(), "PLACE");
  plan = ReplaceAll(plan, SLIPWAY_BUILD_DIR, "PREFIX");
  plan = ReplaceAll(plan, "--allow-run-as-root ", "");
  return ReplaceAll(plan, "--oversubscribe ", "");
}

/// tests/end_to_end/golden/plan.txt; SLIPWAY_REWRITE_GOLDEN=1 writes it anew.
TEST(Plan, ReadsWordForWordAsRecorded) {
  ::unsetenv("PYTHONPATH");  // ranks get that of the caller, too
  Workplace place;
  place.WriteSpec("exp.yaml", "[sh, -c, 'echo $1', train, '{lr}']", 2,
                  "  args: {lr: 0.1, epochs: 3}\n"
                  "ensemble:\n"
                  "  objective: {metric: loss}\n"
                  "  trials: 4\n"
                  "  parallel: 2\n"
                  "  space: {lr: {log: [0.001, 0.1]}}\n");
  const auto planned = place.Slipway({"plan", "exp.yaml"});
  ASSERT_EQ(planned.status.code, 0) << planned.errors;
  const auto plan = Portable(planned.output, place);
  const std::string golden = SLIPWAY_SOURCE_DIR "/tests/end_to_end/golden/plan.txt";
  if (std::getenv("SLIPWAY_REWRITE_GOLDEN") != nullptr) {
    WriteFile(golden, plan, 0644);
    GTEST_SKIP() << "rewritten";
  }
  EXPECT_EQ(plan, ReadFile(golden));
}

}  // namespace
}  // namespace slipway::test
