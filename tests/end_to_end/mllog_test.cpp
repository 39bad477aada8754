// The MLPerf log of real runs, held against the rules of the benchmark by a checker of its own.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>

#include "core/files.h"
#include "tests/end_to_end/workplace.h"
#include "tests/support/mllog_rules.h"

namespace slipway::test {
namespace {
namespace fs = std::filesystem;

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kLogged = "mllog: {write: true, org: Test Laboratory, platform: a-machine}\n";
const std::string kSucceeds = "[sh, -c, 'echo done']";
/// Fails in its first attempt.
const std::string kFailsOnce = "[sh, -c, 'test $SLIPWAY_ATTEMPT = 2']";
const std::string kLoggedData = "data: {train: {source: data.tfrecord, tier: [\"dir:tier\"], verify: \"off\"}}\n";

MllogLines LogOf(const fs::path& folder) { return ReadMllogLines(folder / "mllog.txt"); }

/// From init_start on, without the facts.
std::vector<std::string> CourseOf(const MllogLines& lines) {
  std::vector<std::string> course;
  for (const auto& key : KeysOf(lines)) {
    if (key.find("_start") != std::string::npos || key.find("_stop") != std::string::npos || key == "attempt") {
      course.push_back(key);
    }
  }
  return course;
}

class Mllog : public testing::Test {
 protected:
  Captured Run(const std::string& command, const std::string& more, int ranks = 1) {
    place_.WriteSpec("exp.yaml", command, ranks, kLogged + more);
    return place_.Slipway({"run", "exp.yaml"});
  }

  Workplace place_;
};

TEST_F(Mllog, IsNotWrittenUnlessItIsAskedFor) {
  place_.WriteSpec("exp.yaml", "[sh, -c, 'test -z \"$SLIPWAY_MLLOG\"']");
  EXPECT_EQ(place_.Slipway({"run", "exp.yaml"}).status.code, 0);
  EXPECT_FALSE(fs::exists(place_.RunFolder() / "mllog.txt"));
}

TEST_F(Mllog, OfARunSaysWhatItWasAndWhenItRan) {
  const auto ran = Run(kSucceeds, "", 2);
  ASSERT_EQ(ran.status.code, 0) << ran.errors;
  const auto lines = LogOf(place_.RunFolder());
  EXPECT_THAT(FaultsOf(lines, Program::kForeign), IsEmpty());
  EXPECT_THAT(CourseOf(lines), ElementsAre("init_start", "init_stop", "run_start", "run_stop"));
  EXPECT_EQ(StatusOf(lines), "success");
  EXPECT_EQ(ValueOf(lines, "submission_benchmark"), "test");
  EXPECT_EQ(ValueOf(lines, "submission_org"), "Test Laboratory");
  EXPECT_EQ(ValueOf(lines, "submission_platform"), "a-machine");
  EXPECT_EQ(ValueOf(lines, "number_of_nodes"), 1);
  EXPECT_EQ(ValueOf(lines, "number_of_ranks"), 2);
  EXPECT_EQ(ValueOf(lines, "accelerators_per_node"), 0);
  EXPECT_EQ(ValueOf(lines, "instance"), 0);
}

TEST_F(Mllog, HasTheSeedThatTheProgramIsGiven) {
  place_.WriteSpec("exp.yaml", kSucceeds, 1, "  args: {seed: 7}\n" + kLogged);
  ASSERT_EQ(place_.Slipway({"run", "exp.yaml"}).status.code, 0);
  EXPECT_EQ(ValueOf(LogOf(place_.RunFolder()), "seed"), 7);
}

TEST_F(Mllog, HasStagingBeforeTheRunOrInIt) {
  place_.Write("data.tfrecord", "some bytes");
  ASSERT_EQ(Run(kSucceeds, kLoggedData).status.code, 0);
  auto lines = LogOf(place_.RunFolder());
  EXPECT_THAT(FaultsOf(lines, Program::kForeign), IsEmpty());
  EXPECT_THAT(CourseOf(lines),
              ElementsAre("init_start", "staging_start", "staging_stop", "init_stop", "run_start", "run_stop"));

  RemoveTree(place_ / "runs");
  ASSERT_EQ(place_.Slipway({"run", "exp.yaml", "--set", "mllog.staging=included"}).status.code, 0);
  lines = LogOf(place_.RunFolder());
  EXPECT_THAT(FaultsOf(lines, Program::kForeign), IsEmpty());
  EXPECT_THAT(CourseOf(lines),
              ElementsAre("init_start", "init_stop", "run_start", "staging_start", "staging_stop", "run_stop"));
}

TEST_F(Mllog, OfAFailedRunSaysThatItWasAborted) {
  EXPECT_EQ(Run("[sh, -c, 'exit 3']", "").status.code, 1);
  const auto lines = LogOf(place_.RunFolder());
  EXPECT_THAT(FaultsOf(lines, Program::kForeign), IsEmpty());
  EXPECT_EQ(StatusOf(lines), "aborted");
  EXPECT_THAT(lines.back()["metadata"]["reason"].get<std::string>(), HasSubstr("exit status 3"));
}

TEST_F(Mllog, OfACancelledRunSaysThatItWasAbortedAndIsSetAsideWhenItGoesOn) {
  place_.WriteSpec("exp.yaml", "[sh, -c, 'test -e started || { touch started; sleep 60; }']", 1, kLogged);
  auto run = place_.Start({"run", "exp.yaml"});
  place_.WaitForFile(place_ / "started");
  run.Signal(SIGINT);
  run.Wait();
  const auto cancelled = LogOf(place_.RunFolder());
  EXPECT_THAT(FaultsOf(cancelled, Program::kForeign), IsEmpty());
  EXPECT_EQ(StatusOf(cancelled), "aborted");

  EXPECT_EQ(place_.Slipway({"resume", "last"}).status.code, 0);
  EXPECT_EQ(ReadMllogLines(place_.RunFolder() / "mllog-1.txt"), cancelled);
  const auto resumed = LogOf(place_.RunFolder());
  EXPECT_THAT(FaultsOf(resumed, Program::kForeign), IsEmpty());
  EXPECT_EQ(StatusOf(resumed), "success");
  EXPECT_THAT(ReadFile(place_.RunFolder() / "mllog.txt"), HasSubstr(R"("metadata":{"continues":"mllog-1.txt"})"));
}

TEST_F(Mllog, CountsAttemptsInOneRun) {
  ASSERT_EQ(Run(kFailsOnce, "resilience: {max_restarts: 1}").status.code, 0);
  const auto lines = LogOf(place_.RunFolder());
  EXPECT_THAT(FaultsOf(lines, Program::kForeign), IsEmpty());
  EXPECT_THAT(CourseOf(lines), ElementsAre("init_start", "init_stop", "run_start", "attempt", "run_stop"));
  EXPECT_EQ(ValueOf(lines, "attempt"), 2);
}

TEST_F(Mllog, OfARunThatNeverBeganHasNoRun) {
  place_.Write("data.tfrecord", "not a record");
  EXPECT_NE(Run(kSucceeds, "data: {train: {source: data.tfrecord, tier: [\"dir:tier\"]}}\n").status.code, 0);
  EXPECT_THAT(CourseOf(LogOf(place_.RunFolder())), ElementsAre("init_start", "staging_start"));
}

/// Writes what a trainer would: an evaluation with the value {error}.
constexpr auto kEvaluates =
    "[sh, -c, 'for e in start error stop; do echo \":::MLLOG "
    "{\\\"namespace\\\":\\\"\\\",\\\"time_ms\\\":$(date +%s%3N),\\\"event_type\\\":\\\"$(case $e in start) echo "
    "INTERVAL_START;; "
    "stop) echo INTERVAL_END;; *) echo POINT_IN_TIME;; "
    "esac)\\\",\\\"key\\\":\\\"eval_$e\\\",\\\"value\\\":$1,\\\"metadata\\\":{\\\"epoch_num\\\":1}}\" >> "
    "$SLIPWAY_MLLOG; done; echo "
    "FoM: $1', trial, '{error}']";
const std::string kErrorIsMetric = "  metrics: {from: stdout, pattern: 'FoM: (?<objective>\\S+)'}\n";

TEST_F(Mllog, HasNoSuccessBelowItsTarget) {
  place_.WriteSpec("exp.yaml", kEvaluates, 1, "  args: {error: 0.2}\n" + kLogged);
  ASSERT_EQ(place_.Slipway({"run", "exp.yaml", "--set", "mllog.target=0.124"}).status.code, 0);
  auto lines = LogOf(place_.RunFolder());
  EXPECT_THAT(FaultsOf(lines, Program::kForeign), IsEmpty());
  EXPECT_EQ(StatusOf(lines), "aborted");
  EXPECT_EQ(lines.back()["metadata"]["reason"], "no evaluation reached the target 0.124");

  RemoveTree(place_ / "runs");
  ASSERT_EQ(place_.Slipway({"run", "exp.yaml", "--set", "mllog.target=0.3"}).status.code, 0);
  EXPECT_EQ(StatusOf(LogOf(place_.RunFolder())), "success");
}

TEST_F(Mllog, HasWhatAProgramInPythonAdds) {
  if (std::string(SLIPWAY_SANITIZED) != "") GTEST_SKIP() << "python3 cannot load a library with sanitizers";
  place_.Write("train.py",
               "import slipway\n"
               "slipway.init()\n"
               "slipway.mllog('global_batch_size', 64)\n"
               "slipway.mllog('epoch_start', event='start', epoch_num=1)\n"
               "slipway.mllog('epoch_stop', event='stop', epoch_num=1)\n"
               "slipway.finalize()\n");
  const auto ran = Run("[/usr/bin/python3, train.py]", "", 2);
  ASSERT_EQ(ran.status.code, 0) << ran.errors << ran.output;
  const auto lines = LogOf(place_.RunFolder());
  EXPECT_THAT(FaultsOf(lines, Program::kForeign), IsEmpty());
  EXPECT_THAT(CourseOf(lines),
              ElementsAre("init_start", "init_stop", "run_start", "epoch_start 1", "epoch_stop 1", "run_stop"));
  EXPECT_EQ(ValueOf(lines, "global_batch_size"), 64);
}

const std::string kLoggedEnsemble = kErrorIsMetric +
                                    "ensemble:\n"
                                    "  objective: {metric: objective, goal: minimize}\n"
                                    "  parallel: 2\n"
                                    "  sampler: grid\n"
                                    "  space: {error: {choice: [0.1, 0.11, 0.12, 0.5]}}\n";

TEST_F(Mllog, OfAnEnsembleIsOneForEachTrial) {
  place_.WriteSpec("exp.yaml", kEvaluates, 1, kLoggedEnsemble + kLogged + kLoggedData);
  place_.Write("data.tfrecord", "some bytes");
  ASSERT_EQ(place_.Slipway({"run", "exp.yaml", "--set", "mllog.target=0.124"}).status.code, 0);
  EXPECT_THAT(CourseOf(LogOf(place_.RunFolder())), ElementsAre("init_start", "staging_start", "staging_stop"));
  const std::vector<std::string> wanted = {"success", "success", "success", "aborted"};
  for (std::size_t trial = 0; trial < wanted.size(); ++trial) {
    const auto lines = LogOf(place_.RunFolder() / ("trials/0000" + std::to_string(trial)));
    EXPECT_THAT(FaultsOf(lines, Program::kForeign), IsEmpty());
    EXPECT_EQ(StatusOf(lines), wanted[trial]);
    EXPECT_EQ(ValueOf(lines, "instance"), trial);
  }
}

TEST_F(Mllog, GivesTheThroughputOfAnEnsemble) {
  place_.WriteSpec("exp.yaml", kEvaluates, 1, kLoggedEnsemble + kLogged);
  ASSERT_EQ(place_.Slipway({"run", "exp.yaml", "--set", "mllog.target=0.124"}).status.code, 0);
  const auto shown = place_.Slipway({"trials", "throughput", "last", "--json", "--results", "results"});
  ASSERT_EQ(shown.status.code, 0) << shown.errors;
  const auto document = Json::parse(shown.output);
  EXPECT_EQ(document["system_scale"], 1);
  EXPECT_EQ(document["instance_scale"], 1);
  EXPECT_EQ(document["models"], 4);
  EXPECT_EQ(document["converged"], 3);
  EXPECT_EQ(document["remark"], "");
  EXPECT_GT(document["models_per_minute"].get<double>(), 0);
  for (const auto* name : {"result_0.txt", "result_1.txt", "result_2.txt", "pruned_results/result_0.txt"}) {
    EXPECT_THAT(FaultsOf(ReadMllogLines(place_ / "results" / name), Program::kForeign), IsEmpty()) << name;
  }
  EXPECT_THAT(place_.Slipway({"trials", "throughput", "last", "--results", "results"}).errors,
              HasSubstr("is there already"));
}

TEST_F(Mllog, IsMissedWhereThroughputIsAskedFor) {
  place_.WriteSpec("exp.yaml", kEvaluates, 1, kLoggedEnsemble);
  ASSERT_NE(place_.Slipway({"run", "exp.yaml"}).status.code, 2);
  const auto shown = place_.Slipway({"trials", "throughput"});
  EXPECT_EQ(shown.status.code, 2);
  EXPECT_THAT(shown.errors, HasSubstr("mllog.write=true"));
}

TEST_F(Mllog, OfATrialThatFailedOrWasLeftIsAborted) {
  place_.WriteSpec("exp.yaml", "[sh, -c, 'touch started-$1; test $1 = 1 && exit 3; sleep 60', trial, '{x}']", 1,
                   kErrorIsMetric +
                       "ensemble:\n  objective: {metric: objective}\n  parallel: 2\n  sampler: grid\n"
                       "  space: {x: {choice: [0, 1]}}\n" +
                       kLogged);
  auto run = place_.Start({"run", "exp.yaml"});
  place_.WaitForFile(place_ / "started-0");
  place_.WaitForFile(place_ / "started-1");
  run.Signal(SIGINT);
  run.Wait();
  for (const auto* trial : {"trials/00000", "trials/00001"}) {
    const auto lines = LogOf(place_.RunFolder() / trial);
    EXPECT_THAT(FaultsOf(lines, Program::kForeign), IsEmpty());
    EXPECT_EQ(StatusOf(lines), "aborted");
  }
}

TEST_F(Mllog, ThatCannotBeWrittenIsWorthAWarning) {
  place_.WriteSpec(
      "exp.yaml",
      "[sh, -c, 'cd $SLIPWAY_RUN_DIR/..; mkdir -p 00001; ln -s /nowhere/log 00001/mllog.txt; echo FoM: 1', "
      "trial, '{x}']",
      1,
      kErrorIsMetric +
          "ensemble:\n  objective: {metric: objective}\n  sampler: grid\n  space: {x: {choice: [0, 1]}}\n" + kLogged);
  const auto ran = place_.Slipway({"run", "exp.yaml"});
  EXPECT_EQ(ran.status.code, 0) << ran.errors;
  EXPECT_THAT(ran.errors, HasSubstr("trials/00001' ends here: cannot open"));
  EXPECT_EQ(StatusOf(LogOf(place_.RunFolder() / "trials/00000")), "success");
}

}  // namespace
}  // namespace slipway::test
