// A run that goes on with a changed spec, as a user changes it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <sstream>

#include "core/files.h"
#include "tests/end_to_end/workplace.h"
#include "tests/support/file_events.h"

namespace slipway::test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr auto kMetrics = "  metrics: {from: stdout, pattern: 'FoM: (?<objective>\\S+)'}\n";
constexpr auto kResumedEnsemble =
    "ensemble:\n"
    "  objective: {metric: objective, goal: maximize}\n"
    "  sampler: random\n"
    "  trials: 2\n"
    "  space: {x: {int: [0, 1000]}}\n";

class Resume : public testing::Test {
 protected:
  void WriteEnsemble(const std::string& command = "[sh, -c, 'echo FoM: $1', trial, '{x}']",
                     const std::string& more = "") const {
    place_.WriteSpec("exp.yaml", command, 1, std::string(kMetrics) + kResumedEnsemble + more);
  }

  Json Trials() const { return Json::parse(place_.Slipway({"trials", "ls", "--json"}).output); }

  /// What is written down about the run's spec; nobody but `resume --set` changes it.
  std::string Plan() const { return ReadFile(place_.RunFolder() / "plan.json"); }

  Workplace place_;
};

TEST_F(Resume, CountsTheStepsOfPrintedMetricsOn) {
  place_.WriteSpec("exp.yaml", "[sh, -c, 'echo FoM: 1; echo FoM: 2; test $SLIPWAY_ATTEMPT = 3']", 1,
                   std::string(kMetrics) + "resilience: {max_restarts: 1}\n");
  EXPECT_EQ(place_.Slipway({"run", "exp.yaml"}).status.code, 1);
  const auto resumed = place_.Slipway({"resume", "last"});
  EXPECT_EQ(resumed.status.code, 0) << resumed.errors;
  std::vector<std::int64_t> steps;
  for (const std::string attempt : {"1", "2", "3"}) {
    std::istringstream lines(ReadFile(place_.RunFolder() / ("attempt-" + attempt) / "metrics.jsonl"));
    for (std::string line; std::getline(lines, line);) steps.push_back(Json::parse(line)["step"].get<std::int64_t>());
  }
  EXPECT_THAT(steps, testing::ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST_F(Resume, GivesAFinishedEnsembleMoreTrials) {
  WriteEnsemble();
  ASSERT_EQ(place_.Slipway({"run", "exp.yaml"}).status.code, 0);
  const auto resumed = place_.Slipway({"resume", "last", "--set", "ensemble.trials=5", "--set", "ensemble.parallel=2"});
  ASSERT_EQ(resumed.status.code, 0) << resumed.errors;
  EXPECT_THAT(resumed.errors, HasSubstr("changed: ensemble.trials 2 -> 5"));
  EXPECT_EQ(Trials()["counts"]["complete"], 5);
  EXPECT_EQ(Json::parse(place_.Slipway({"trials", "show", "0", "--json"}).output)["attempts"].size(), 1U);
  EXPECT_THAT(place_.Slipway({"resume", "last"}).output, HasSubstr("there is nothing to resume"));
  EXPECT_EQ(ReadFile(place_.RunFolder() / "spec.yaml"), ReadFile(place_ / "exp.yaml"));
}

TEST_F(Resume, TakesTheRunBehindAChange) {
  WriteEnsemble();
  ASSERT_EQ(place_.Slipway({"run", "exp.yaml"}).status.code, 0);
  const auto resumed = place_.Slipway({"resume", "--set", "ensemble.trials=5", "last"});
  ASSERT_EQ(resumed.status.code, 0) << resumed.errors;
  EXPECT_EQ(Trials()["counts"]["complete"], 5);
}

TEST_F(Resume, ShowsWhatWasChangedAndWhen) {
  WriteEnsemble();
  ASSERT_EQ(place_.Slipway({"run", "exp.yaml"}).status.code, 0);
  EXPECT_EQ(place_.Status()["changes"].size(), 0U);
  for (const auto* change : {"ensemble.trials=3", "ensemble.budget.time=1h", "ensemble.trials=4"}) {
    ASSERT_EQ(place_.Slipway({"resume", "last", "--set", change}).status.code, 0);
  }
  const auto changes = place_.Status()["changes"];
  ASSERT_EQ(changes.size(), 3U);
  EXPECT_EQ(changes[2]["key"], "ensemble.trials");
  EXPECT_EQ(changes[2]["before"], 3);
  EXPECT_EQ(changes[2]["after"], 4);
  EXPECT_THAT(place_.Slipway({"status"}).output, HasSubstr("changed ensemble.trials 2 -> 3, 20"));
  EXPECT_THAT(ReadFile(place_.RunFolder() / "events.jsonl"),
              HasSubstr("\"changes\":[{\"key\":\"ensemble.trials\",\"before\":3,\"after\":4}]"));
}

TEST_F(Resume, RefusesWhatWouldMixTwoExperimentsAndChangesNothing) {
  WriteEnsemble();
  ASSERT_EQ(place_.Slipway({"run", "exp.yaml"}).status.code, 0);
  const auto before = Plan();
  const auto refused = place_.Slipway(
      {"resume", "last", "--set", "ensemble.space.x.int=[0, 5]", "--set", "ensemble.trials=9", "--set", "name=other"});
  EXPECT_EQ(refused.status.code, 2);
  EXPECT_THAT(refused.errors, HasSubstr("the trials were drawn from the other space"));
  EXPECT_THAT(refused.errors, HasSubstr("slipway trials import"));
  EXPECT_THAT(refused.errors, HasSubstr("it is the name of the run's folder"));
  EXPECT_EQ(Plan(), before);
  EXPECT_EQ(Trials()["counts"]["complete"], 2);
}

TEST_F(Resume, ToTheSameValuesLeavesASuccessAlone) {
  WriteEnsemble();
  ASSERT_EQ(place_.Slipway({"run", "exp.yaml"}).status.code, 0);
  const auto before = Plan();
  const auto resumed = place_.Slipway({"resume", "last", "--set", "ensemble.trials=2"});
  EXPECT_EQ(resumed.status.code, 0);
  EXPECT_THAT(resumed.output, HasSubstr("there is nothing to resume"));
  EXPECT_EQ(Plan(), before);
}

TEST_F(Resume, ChangesNothingOfARunThatLives) {
  WriteEnsemble("[sh, -c, 'touch started; sleep 60']");
  auto run = place_.Start({"run", "exp.yaml"});
  place_.WaitForFile(place_ / "started");
  const auto before = Plan();
  const auto refused = place_.Slipway({"resume", "last", "--set", "ensemble.trials=9"});
  EXPECT_EQ(refused.status.code, 4) << refused.errors;
  EXPECT_EQ(Plan(), before);
  run.Signal(SIGINT);
  EXPECT_EQ(run.Wait().code, 130);
}

TEST_F(Resume, ForgivesMoreFailures) {
  WriteEnsemble("[sh, -c, 'test -e cured && echo FoM: $1', trial, '{x}']", "  max_failures: 0\n");
  EXPECT_EQ(place_.Slipway({"run", "exp.yaml"}).status.code, 1);
  place_.Write("cured", "");
  const auto resumed =
      place_.Slipway({"resume", "last", "--set", "ensemble.max_failures=1", "--set", "ensemble.trials=3"});
  EXPECT_EQ(resumed.status.code, 0) << resumed.output;
  EXPECT_EQ(Trials()["counts"]["complete"], 2);
  EXPECT_EQ(Trials()["counts"]["failed"], 1);
}

TEST_F(Resume, CarriesOutWhatWasAskedOfASuccess) {
  WriteEnsemble("[sh, -c, 'test \"$SLIPWAY_TRIAL\" != 0 || test -e cured && echo FoM: $1', trial, '{x}']");
  ASSERT_EQ(place_.Slipway({"run", "exp.yaml"}).status.code, 0);
  ASSERT_EQ(Trials()["counts"]["failed"], 1);
  place_.Write("cured", "");
  const auto asked = place_.Slipway({"trials", "retry", "0", "last"});
  EXPECT_THAT(asked.output, HasSubstr("slipway resume " + place_.RunFolder().filename().string()));
  EXPECT_EQ(place_.Slipway({"resume", "last"}).status.code, 0);
  EXPECT_EQ(Trials()["counts"]["complete"], 2);
  EXPECT_THAT(place_.Slipway({"resume", "last"}).output, HasSubstr("there is nothing to resume"));
}

TEST_F(Resume, GivesATrialThatTimedOutMoreTime) {
  WriteEnsemble("[sh, -c, 'test -e go || sleep 60; echo FoM: $1', trial, '{x}']", "  time_limit: 200ms\n");
  ASSERT_EQ(place_.Slipway({"run", "exp.yaml"}).status.code, 1);
  place_.Write("go", "");
  const auto resume = "slipway resume " + place_.RunFolder().filename().string();
  const auto asked = place_.Slipway({"trials", "retry", "0", "last"}).output;
  EXPECT_THAT(asked, HasSubstr("it has used up ensemble.time_limit (200 ms), which counts all its attempts together"));
  EXPECT_THAT(asked, testing::ContainsRegex("for more: " + resume + " --set ensemble.time_limit=[0-9]+s\n"));
  ASSERT_EQ(place_.Slipway({"resume", "last", "--set", "ensemble.time_limit=1m"}).status.code, 0);
  EXPECT_EQ(Trials()["counts"]["complete"], 1);
  EXPECT_THAT(place_.Slipway({"trials", "retry", "1", "last"}).output, testing::Not(HasSubstr("for more")));
}

TEST_F(Resume, TakesUpAConfigurationThatTheBudgetHadNoRoomFor) {
  WriteEnsemble();
  ASSERT_EQ(place_.Slipway({"run", "exp.yaml"}).status.code, 0);
  const auto asked = place_.Slipway({"trials", "enqueue", "last", "-p", "x=7"});
  EXPECT_EQ(asked.status.code, 0) << asked.errors;
  EXPECT_THAT(asked.output, HasSubstr("--set ensemble.trials=3"));
  ASSERT_EQ(place_.Slipway({"resume", "last", "--set", "ensemble.trials=3"}).status.code, 0);
  const auto trial = Json::parse(place_.Slipway({"trials", "show", "2", "--json"}).output);
  EXPECT_EQ(trial["parameters"]["x"], 7) << trial.dump(1);
}

/// What the trials have left would be taken for the results of other ones.
TEST_F(Resume, RefusesALostTrialBook) {
  WriteEnsemble();
  ASSERT_EQ(place_.Slipway({"run", "exp.yaml"}).status.code, 0);
  const auto book = place_.RunFolder() / "trials.db";
  const auto expect_refused = [&](const std::vector<std::string>& command) {
    const auto refused = place_.Slipway(command);
    EXPECT_EQ(refused.status.code, 3) << refused.output;
    EXPECT_THAT(refused.errors, HasSubstr(book.string()));
    EXPECT_THAT(refused.errors, HasSubstr("slipway run "));
  };
  std::filesystem::remove(book);
  expect_refused({"resume", "last", "--set", "ensemble.trials=3"});
  expect_refused({"trials", "ask", "last"});
  EXPECT_FALSE(std::filesystem::exists(book));
  WriteFile(book, "");
  expect_refused({"trials", "ask", "last"});
  expect_refused({"resume", "last", "--set", "ensemble.trials=3"});
  EXPECT_EQ(place_.Status()["phase"], "succeeded") << "a success stays one";
}

TEST_F(Resume, LeavesASuccessWithABookOfAnotherVersionAlone) {
  WriteEnsemble();
  ASSERT_EQ(place_.Slipway({"run", "exp.yaml"}).status.code, 0);
  const auto plan = Plan();
  auto book = ReadFile(place_.RunFolder() / "trials.db");
  book.at(63) = 99;  // the last byte of PRAGMA user_version
  WriteFile(place_.RunFolder() / "trials.db", book);
  const auto resumed = place_.Slipway({"resume", "last", "--set", "ensemble.trials=3"});
  EXPECT_EQ(resumed.status.code, 3);
  EXPECT_THAT(resumed.errors, HasSubstr("newer Slipway (schema 99"));
  EXPECT_EQ(place_.Status()["phase"], "succeeded");
  EXPECT_EQ(Plan(), plan);
}

/// A kill finds the old spec or the new one, and `resume` goes on with what it finds.
TEST_F(Resume, KeepsAChangeWholeOrNotAtAllAcrossKills) {
  WriteEnsemble("[sh, -c, 'sleep 0.02; echo FoM: $1', trial, '{x}']");
  ASSERT_EQ(place_.Slipway({"run", "exp.yaml"}).status.code, 0);
  int trials = 2;
  for (int kill = 0; kill < 12; ++kill) {
    const auto wish = trials + 1;
    auto resumed = place_.Start({"resume", "last", "--set", "ensemble.trials=" + std::to_string(wish), "--set",
                                 "ensemble.budget.time=" + std::to_string(wish) + "h"});
    ::usleep(static_cast<useconds_t>(1'500 * kill));
    resumed.Signal(SIGKILL);
    resumed.Wait();
    const auto plan = Json::parse(Plan());
    const auto found = plan["spec"]["ensemble"]["trials"].get<int>();
    ASSERT_TRUE(found == trials || found == wish) << found;
    trials = found;
    const auto& budget = plan["spec"]["ensemble"]["budget"];
    EXPECT_EQ(budget, trials == 2 ? Json() : Json({{"time", trials * 3600.0}, {"node_hours", nullptr}}));
  }
  ASSERT_EQ(place_.Slipway({"resume", "last"}).status.code, 0);
  EXPECT_EQ(Trials()["counts"]["complete"], trials);
}

TEST_F(Resume, GivesASingleRunMoreTimeAndMoreEpochs) {
  place_.WriteSpec("exp.yaml", "[sh, -c, 'echo epochs $1; test $1 -gt 3 || sleep 60', train, '{epochs}']", 1,
                   std::string("  args: {epochs: 3}\n") + kMetrics);
  const auto ran = place_.Slipway({"run", "exp.yaml", "--set", "launch.time_limit=1s"});
  ASSERT_EQ(ran.status.code, 1);
  EXPECT_THAT(ran.output, HasSubstr("time limit of 1.0 s reached"));
  const auto resumed =
      place_.Slipway({"resume", "last", "--set", "launch.time_limit=1m", "--set", "train.args.epochs=4"});
  EXPECT_EQ(resumed.status.code, 0) << resumed.errors << resumed.output;
  EXPECT_THAT(resumed.errors, HasSubstr("changed: launch.time_limit 1.0 s -> 1m00s"));
  EXPECT_EQ(place_.Slipway({"logs", "last"}).output, "[0] epochs 4\n");
  EXPECT_THAT(place_.Slipway({"status"}).output, HasSubstr("changed train.args.epochs 3 -> 4"));
}

TEST_F(Resume, HoldsAgainstADamagedPlan) {
  WriteEnsemble();
  ASSERT_EQ(place_.Slipway({"run", "exp.yaml"}).status.code, 0);
  auto plan = Json::parse(Plan());
  plan["changes"] = Json::parse(R"([{"key": 7}, "x"])");
  WriteFile(place_.RunFolder() / "plan.json", plan.dump());
  EXPECT_EQ(place_.Slipway({"status"}).status.code, 0);
  WriteFile(place_.RunFolder() / "plan.json", "[1, 2");
  EXPECT_EQ(place_.Slipway({"status"}).status.code, 0);
  const auto resumed = place_.Slipway({"resume", "last", "--set", "ensemble.trials=3"});
  EXPECT_EQ(resumed.status.code, 3);
  EXPECT_THAT(resumed.errors, HasSubstr("plan.json' is damaged"));
  EXPECT_THAT(resumed.errors, Not(HasSubstr("what()")));
}

TEST_F(Resume, BeginsNothingAnewBesideACheckpointOfAnotherVersion) {
  place_.Write("train.sh",
               "echo begun\nstep=$SLIPWAY_CHECKPOINT_DIR/step-000000000003\nmkdir -p $step\n"
               "echo '{\"schema\": \"slipway.checkpoint/2\"}' > $step/manifest.json\nexit 1\n");
  place_.WriteSpec("exp.yaml", "[sh, train.sh]");
  ASSERT_EQ(place_.Slipway({"run", "exp.yaml"}).status.code, 1);
  const auto resumed = place_.Slipway({"resume", "last"});
  EXPECT_EQ(resumed.status.code, 3) << resumed.errors;
  EXPECT_THAT(resumed.errors, HasSubstr("its schema is \"slipway.checkpoint/2\", expected 'slipway.checkpoint/1'"));
  EXPECT_THAT(resumed.errors, HasSubstr("use the version of Slipway that wrote it"));
  EXPECT_THAT(resumed.output, Not(HasSubstr("begun")));
}

TEST_F(Resume, LeavesAPlanOfAnotherVersionToIt) {
  WriteEnsemble();
  ASSERT_EQ(place_.Slipway({"run", "exp.yaml"}).status.code, 0);
  auto plan = Json::parse(Plan());
  plan["schema"] = "slipway.plan/2";
  WriteFile(place_.RunFolder() / "plan.json", plan.dump());
  const auto resumed = place_.Slipway({"resume", "last", "--set", "ensemble.trials=3"});
  EXPECT_EQ(resumed.status.code, 3);
  EXPECT_THAT(resumed.errors,
              HasSubstr("plan.json' was written by another version of Slipway (schema slipway.plan/2)"));
  EXPECT_THAT(resumed.errors, HasSubstr("use the version of Slipway that wrote it"));
}

/// What a rank has started and what ignores SIGTERM has the grace time, too; the next attempt begins after it.
TEST_F(Resume, BeginsWhenTheRanksOfAKilledManagerHaveEnded) {
  place_.Write("train.sh",
               "runs() { test -n \"$(cat /proc/$1/cmdline 2> /dev/null | tr '\\0' ' ')\"; }\n"
               "if [ $SLIPWAY_ATTEMPT = 1 ]; then\n"
               "  setsid sh -c 'trap \"\" TERM; echo $$ > new.$RANK; mv new.$RANK left.$RANK; "
               "while :; do sleep 0.05; done' &\n"
               "  trap '' TERM\n"
               "  while :; do sleep 0.05; done\n"
               "fi\n"
               "for rank in 0 1; do if runs $(cat left.$rank); then echo beside $rank; fi; done\n");
  place_.WriteSpec("exp.yaml", "[sh, train.sh]", 2);
  auto run = place_.Start({"run", "exp.yaml"});
  for (const auto* name : {"left.0", "left.1"}) place_.WaitForFile(place_ / name);
  run.Signal(SIGKILL);
  run.Wait();
  const auto resumed = place_.Slipway({"resume", "last"});
  EXPECT_EQ(resumed.status.code, 0) << resumed.errors << resumed.output;
  EXPECT_THAT(resumed.errors, HasSubstr("waiting up to 7.0 s for the ranks that the earlier manager left"));
  EXPECT_THAT(resumed.output, Not(HasSubstr("beside")));
}

/// A program that saves and exits with 0 when it is asked to end has not done all of its work.
TEST_F(Resume, TakesUpACancelledRunWhoseProgramExitedWithSuccess) {
  place_.WriteSpec("exp.yaml",
                   "[sh, -c, 'test $SLIPWAY_ATTEMPT = 2 && exit 0; trap \"exit 0\" TERM; touch started; "
                   "while :; do sleep 0.02; done']",
                   1, kMetrics);
  auto run = place_.Start({"run", "exp.yaml"});
  place_.WaitForFile(place_ / "started");
  EXPECT_EQ(place_.Slipway({"cancel", "last"}).status.code, 0);
  EXPECT_EQ(run.Wait().code, 130);
  EXPECT_EQ(place_.Status()["phase"], "cancelled");
  EXPECT_EQ(place_.Slipway({"resume", "last"}).status.code, 0);
  EXPECT_EQ(place_.Status()["attempt"], 2);
}

/// A `resume` that waits for the manager's lock while another one carries the run out.
class ResumeBehindAnother : public Resume {
 protected:
  ResumeBehindAnother() {
    place_.WriteSpec("exp.yaml", "['false']");
    EXPECT_EQ(place_.Slipway({"run", "exp.yaml"}).status.code, 1);
  }

  /// Its exit code, after attempt 2 of the other one has ended so.
  int CodeAfter(const std::string& phase) const {
    const auto lock_file = place_.RunFolder() / ".manager.lock";
    auto lock = FileLock::TryAcquire(lock_file, LockMode::kExclusive);
    EXPECT_TRUE(lock.has_value());
    const FileEvents opens(lock_file, IN_OPEN);
    auto resume = place_.Start({"resume", "last"});
    EXPECT_TRUE(opens.TakeNext());  // it wants the lock, and so has read the state
    const auto file = place_.RunFolder() / "state.json";
    auto state = Json::parse(ReadFile(file));
    state["phase"] = phase;
    state["attempt"] = 2;
    WriteFile(file, state.dump());
    lock.reset();
    return resume.Wait().code;
  }
};

TEST_F(ResumeBehindAnother, LeavesASuccessAlone) {
  EXPECT_EQ(CodeAfter("succeeded"), 0);
  place_.WaitForWords("there is nothing to resume");
  EXPECT_FALSE(std::filesystem::exists(place_.RunFolder() / "attempt-2"));
}

TEST_F(ResumeBehindAnother, IsBusyWhenTheOtherHasFailed) {
  EXPECT_EQ(CodeAfter("failed"), 4);
  place_.WaitForWords("another process has resumed run");
  EXPECT_FALSE(std::filesystem::exists(place_.RunFolder() / "attempt-2"));
}

TEST_F(Resume, SaysThatTheSpecWasEditedSinceTheRunBegan) {
  WriteEnsemble("['false']");
  ASSERT_EQ(place_.Slipway({"run", "exp.yaml", "--set", "ensemble.parallel=1"}).status.code, 1);
  EXPECT_THAT(place_.Slipway({"resume", "last"}).errors, Not(HasSubstr("has changed since")));
  WriteEnsemble("['false']", "  max_failures: 9\n# a remark\n");
  const auto resumed = place_.Slipway({"resume", "last"});
  EXPECT_THAT(resumed.errors, HasSubstr("exp.yaml' has changed since this run began, and the run goes on with its own "
                                        "copy: ensemble.max_failures none -> 9; to change the run: slipway resume"));
  WriteEnsemble("['true']");
  EXPECT_THAT(place_.Slipway({"resume", "last"}).errors,
              testing::AllOf(HasSubstr("train.command [\"false\"] -> [\"true\"]; to start anew: slipway run"),
                             Not(HasSubstr("to change the run"))));
  place_.Write("exp.yaml", "name: [");
  EXPECT_THAT(place_.Slipway({"resume", "last"}).errors, HasSubstr("it is no valid spec now"));
}

}  // namespace
}  // namespace slipway::test
