// `slipway explain` of real runs on this machine.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/files.h"
#include "core/json.h"
#include "core/process.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

using testing::HasSubstr;

class ExplainCommand : public testing::Test {
 protected:
  ExplainCommand() {
    environment_.Set("XDG_CONFIG_HOME", directory_.path().string());
    for (const char* name : {"SLIPWAY_SITE", "SLIPWAY_RUNS", "SLURM_JOB_ID"}) environment_.Unset(name);
  }

  Captured Slipway(std::vector<std::string> words) const {
    SpawnOptions options;
    options.argv = std::move(words);
    options.argv.insert(options.argv.begin(), SLIPWAY_BUILD_DIR "/bin/slipway");
    options.environment = environment_;
    options.working_directory = directory_.path();
    return RunAndCapture(options, std::chrono::seconds(50));
  }

  void Run(const std::string& spec) const {
    WriteFile(directory_ / "exp.yaml", "name: small\nlaunch: {engine: local}\n" + spec);
    Slipway({"run", "exp.yaml"});
  }

  Json Explained() const { return Json::parse(Slipway({"explain", "--json"}).output); }

  test::TempDirectory directory_;
  Environment environment_ = Environment::Inherited();
};

TEST_F(ExplainCommand, TellsTheLastWordsOfAFailedRun) {
  Run("train: {command: [sh, -c, 'echo no such field; exit 3']}\n");
  const auto explained = Explained();
  EXPECT_EQ(explained["phase"], "failed");
  EXPECT_EQ(explained["ranks"], Json::parse(R"([{"rank": 0, "exit_code": 3, "signal": 0}])"));
  EXPECT_EQ(explained["log"]["lines"], "no such field");
  const auto text = Slipway({"explain"});
  EXPECT_EQ(text.status.code, 0);
  EXPECT_THAT(text.output, HasSubstr("ended with exit status 3\n"));
  EXPECT_THAT(text.output, HasSubstr("slipway logs " + explained["run"].get<std::string>() + " --rank 0"));
}

TEST_F(ExplainCommand, SaysHowAnOptionGetsNoValue) {
  const auto advice = [&](const std::string& words, const std::string& more = "") {
    Run("train:\n  command: [sh, -c, 'echo \"" + words + "\"; exit 2', sh]\n  args: {amp: true, n: 1}\n" + more);
    return Slipway({"explain"}).output;
  };
  EXPECT_THAT(advice("error: unrecognized arguments: true"), HasSubstr("if --amp takes no value"));
  EXPECT_THAT(advice("error: unrecognized arguments: true", "  flags: [amp]\n"),
              testing::Not(HasSubstr("takes no value")));
  EXPECT_THAT(advice("another error"), testing::Not(HasSubstr("takes no value")));
  const std::string ensemble = "ensemble: {trials: 1, objective: {metric: loss}, space: {x: {uniform: [0, 1]}}}\n";
  EXPECT_THAT(advice("error: unrecognized arguments: true", ensemble), HasSubstr("if --amp takes no value"));
}

TEST_F(ExplainCommand, SaysHowATrialFindsAFileBesideTheSpec) {
  WriteFile(directory_ / "values.txt", "1");
  Run("train: {command: [sh, -c, 'LC_ALL=C cat values.txt']}\n"
      "ensemble: {trials: 1, objective: {metric: loss}, space: {x: {uniform: [0, 1]}}}\n");
  EXPECT_THAT(Slipway({"explain"}).output, HasSubstr("set launch.files: [values.txt] or launch.workdir: spec"));
}

TEST_F(ExplainCommand, SaysThatNoRankWroteAnything) {
  Run("train: {command: [sh, -c, 'exit 3']}\n");
  const auto text = Slipway({"explain"}).output;
  EXPECT_THAT(text, HasSubstr("the program wrote nothing; exit status 3 is the program's own\n"));
  EXPECT_THAT(text, testing::Not(HasSubstr("slipway logs")));
  EXPECT_THAT(text, HasSubstr("start anew: slipway run " + (directory_ / "exp.yaml").string()));
  EXPECT_TRUE(Explained()["log"].is_null());
}

TEST_F(ExplainCommand, GroupsTheFailedTrialsOfAnEnsemble) {
  Run("train:\n  command: [sh, -c, 'echo FoM: 1; echo bad $1; exit $1', sh, '{x}']\n"
      "  metrics: {from: stdout, pattern: 'FoM: (?<objective>\\S+)'}\n"
      "ensemble:\n  objective: {metric: objective, goal: maximize}\n  trials: 4\n  sampler: grid\n"
      "  space: {x: {choice: [0, 3, 4, 5]}}\n");
  const auto explained = Explained();
  ASSERT_EQ(explained["failures"].size(), 3u);
  EXPECT_EQ(explained["failures"][0]["what"], "failed: exit status 3");
  EXPECT_EQ(explained["failures"][0]["trials"], Json::parse("[1]"));
  EXPECT_EQ(explained["failures"][0]["last_line"], "bad 3");
  EXPECT_EQ(explained["failures"][0]["unread_metrics"], Json::array());
  EXPECT_THAT(Slipway({"explain"}).output, HasSubstr("trials: 1 complete, 3 failed"));
}

TEST_F(ExplainCommand, NamesTheRunAsItsUserDid) {
  Run("train: {command: [sh, -c, 'echo no such field; exit 3']}\n");
  const auto path = "./runs/" + Explained()["run"].get<std::string>();
  const auto text = Slipway({"explain", path}).output;
  EXPECT_THAT(text, HasSubstr("slipway logs " + path + " --rank 0"));
  EXPECT_THAT(text, HasSubstr("slipway resume " + path));
}

TEST_F(ExplainCommand, NamesTheRunByItsPathWhereTheRunsDirectoryIsAnOption) {
  WriteFile(directory_ / "exp.yaml", "name: small\nlaunch: {engine: local}\ntrain: {command: [sh, -c, 'exit 3']}\n");
  EXPECT_THAT(Slipway({"--runs-dir", "other", "run", "exp.yaml"}).output, HasSubstr("slipway explain other/small-"));
  const auto explained = Json::parse(Slipway({"--runs-dir", "other", "explain", "--json"}).output);
  const auto path = "other/" + explained["run"].get<std::string>();
  EXPECT_THAT(explained["next"].dump(), HasSubstr("slipway resume " + path));
  EXPECT_EQ(Json::parse(Slipway({"explain", path, "--json"}).output), explained) << "the advised name finds it";
}

TEST_F(ExplainCommand, NamesAnEnsembleAsItsUserDidAsTrialsDoes) {
  Run("train:\n  command: [sh, -c, 'exit 3']\n  metrics: {from: stdout, pattern: 'FoM: (?<objective>\\S+)'}\n"
      "ensemble:\n  objective: {metric: objective, goal: maximize}\n  trials: 2\n  sampler: grid\n"
      "  space: {x: {choice: [0, 3]}}\n");
  const auto path = "./runs/" + Explained()["run"].get<std::string>();
  EXPECT_THAT(Slipway({"explain", path}).output, HasSubstr("slipway logs " + path + " --trial 0"));
  EXPECT_THAT(Slipway({"trials", "retry", "--failed", path}).output, HasSubstr("'slipway resume " + path + "'"));
  EXPECT_THAT(Slipway({"trials", "ls", path}).output, HasSubstr("to run again (0, 1): slipway resume " + path));
}

TEST_F(ExplainCommand, QuotesTheLastWordsOfEachWayToFailInTheDocument) {
  Run("train:\n  command: [sh, -c, 'echo FoM: 1; echo bad $1; exit $1', sh, '{x}']\n"
      "  metrics: {from: stdout, pattern: 'FoM: (?<objective>\\S+)'}\n"
      "ensemble:\n  objective: {metric: objective, goal: maximize}\n  trials: 7\n  sampler: grid\n"
      "  space: {x: {int: [1, 7]}}\n");
  const auto failures = Explained()["failures"];
  ASSERT_EQ(failures.size(), 7u);
  for (int i = 0; i < 7; ++i) {
    EXPECT_EQ(failures[static_cast<std::size_t>(i)]["last_line"], "bad " + std::to_string(i + 1));
  }
}

TEST_F(ExplainCommand, SaysHowToReportWhatTrialsEndedWithout) {
  Run("train: {command: [sh, -c, 'echo \"{\\\"loss\\\": 1}\" >> $SLIPWAY_METRICS']}\n"
      "ensemble:\n  objective: {metric: loss, goal: minimize}\n  trials: 2\n  sampler: grid\n"
      "  space: {x: {int: [1, 2]}}\n");
  EXPECT_EQ(Explained()["failures"][0]["unread_metrics"],
            Json::parse(R"([{"attempt": 1, "lines": 1, "first": 1, "why": "it has no object 'metrics'"}])"));
  const auto text = Slipway({"explain"}).output;
  EXPECT_THAT(text, HasSubstr("2 trials no objective: reported no 'loss' (0, 1)\n"
                              "    trial 0: 1 line of attempt 1's metrics.jsonl could not be read; line 1:"));
  EXPECT_THAT(text, HasSubstr(R"(have it report 'loss': lines such as {"step":1,"metrics":{"loss":0.5}} in)"));
}

TEST_F(ExplainCommand, PassesNothingOnThatMovesACursor) {
  Run("train: {command: [sh, -c, 'printf \"\\033[2J\\033]0;owned\\007\\033[31mno luck\\033[0m\\n\"; exit 3']}\n");
  const auto text = Slipway({"explain"}).output;
  EXPECT_THAT(text, HasSubstr("\nno luck\n"));
  EXPECT_EQ(text.find_first_of("\033\007"), std::string::npos) << text;
  EXPECT_EQ(Explained()["log"]["lines"], "no luck");
}

/// What scripts decide by, and `resume`.
TEST_F(ExplainCommand, StandsBesideACauseThatIsAValue) {
  Run("train: {command: [sh, -c, 'exit 3']}\n");
  const auto cause = Json::parse(Slipway({"status", "--json"}).output)["cause"];
  EXPECT_EQ(cause["kind"], "rank_failed");
  EXPECT_EQ(cause["rank"], 0);
  EXPECT_EQ(cause["status"], Json::parse(R"({"exit_code": 3, "signal": 0})"));
  Run("train: {command: [\"true\"]}\n");
  EXPECT_EQ(Json::parse(Slipway({"status", "--json"}).output)["cause"], Json::parse(R"({"kind": "completed"})"));
  Run("train: {command: [sh, -c, 'exit 3']}\n"
      "ensemble:\n  objective: {metric: loss, goal: minimize}\n  trials: 2\n  space: {x: {int: [1, 9]}}\n");
  EXPECT_EQ(Json::parse(Slipway({"status", "--json"}).output)["cause"],
            Json::parse(R"({"kind": "no_trial_completed", "failed": 2, "cancelled": 0, "pruned": 0, "paused": 0})"));
}

TEST_F(ExplainCommand, HasNothingToAddToASuccess) {
  Run("train: {command: [\"true\"]}\n");
  const auto explained = Explained();
  EXPECT_EQ(explained["phase"], "succeeded");
  EXPECT_TRUE(explained["next"].empty());
  EXPECT_TRUE(explained["log"].is_null());
}

TEST_F(ExplainCommand, LeavesOutWhatIsMissingOrDamaged) {
  Run("train: {command: [\"true\"]}\n");
  for (const auto& run : std::filesystem::directory_iterator(directory_ / "runs")) {
    std::filesystem::remove(run.path() / "plan.json");
    std::filesystem::remove_all(run.path() / "attempt-1");
    WriteFile(run.path() / "events.jsonl", "not json\n{}\n[]\n");
  }
  EXPECT_EQ(Explained()["phase"], "succeeded");
}

}  // namespace
}  // namespace slipway::launcher
