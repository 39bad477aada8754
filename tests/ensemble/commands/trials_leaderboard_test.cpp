// What `slipway trials ls|best|show` tell of several objectives, of repeats, of outcomes and of the model ensemble.

#include <gmock/gmock.h>
#include <signal.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/files.h"
#include "launcher/cli/commands/trials.h"
#include "launcher/cli/commands/trials_pareto.h"
#include "launcher/trials/model_ensemble.h"
#include "tests/ensemble/manager/fake_runner.h"
#include "tests/support/kept_output.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

using ensemble::FakeRunner;
using ensemble::Goal;
using ensemble::TrialNumber;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class TrialsLeaderboard : public testing::Test {
 protected:
  void Run(const ensemble::EnsembleOptions& options, FakeRunner::Play play) {
    FakeRunner runner(std::move(play));
    auto book = ensemble::TrialBook::OpenForWriting(folder_.path());
    ensemble::CountingObserver observer;
    RunEnsemble(book, options, runner, observer);
  }

  /// Trials x = 0 to 3 in that order; x is `accuracy`, and `values[x]` is `seconds`.
  void RunTwoObjectives(const std::vector<double>& values = {1, 5, 5, 2}) {
    auto options = Grid("[0, 1, 2, 3]");
    options.objectives = {{"accuracy", Goal::kMaximize}, {"seconds", Goal::kMinimize}};
    Run(options, [values](TrialNumber trial, int, const Json& parameters) {
      auto script = ensemble::Reports("accuracy", parameters.at("x").get<double>());
      script.metrics.push_back({0, 0, "seconds", 1, {}, values.at(static_cast<std::size_t>(trial))});
      return script;
    });
  }

  /// Three repeats of x = 0 and x = 1: 0.1, 0.3, failed; and 0.25 three times.
  void RunRepeats() {
    auto options = Grid("[0, 1]");
    options.repeats = 3;
    Run(options, [](TrialNumber trial, int, const Json&) {
      constexpr double kValues[] = {0.1, 0.3, 0, 0.25, 0.25, 0.25};
      return trial == 2 ? ensemble::Exits({3, 0}) : ensemble::Reports("accuracy", kValues[trial]);
    });
  }

  static ensemble::EnsembleOptions Grid(const std::string& values) {
    ensemble::EnsembleOptions options;
    options.objectives = {{"accuracy"}};
    options.sampler = "grid";
    options.trials = 9;
    options.space = ensemble::ParseSpace(Json::parse(R"({"x":{"choice":)" + values + "}}"));
    return options;
  }

  std::vector<int> Numbers() const {
    std::vector<int> numbers;
    for (const auto& trial : output_.document["trials"]) numbers.push_back(trial["trial"].get<int>());
    return numbers;
  }

  void WriteModels(const std::string& text) { WriteFile(folder_ / kModelEnsembleName, text); }

  test::TempDirectory folder_;
  test::KeptOutput output_;
};

TEST_F(TrialsLeaderboard, LsShowsAllObjectivesAndTheFronts) {
  RunTwoObjectives();
  TrialsLs({folder_.path(), {}, 0}, output_);
  EXPECT_EQ(Numbers(), (std::vector{3, 2, 1, 0})) << "ranked by the first";
  const auto& best = output_.document["trials"][0];
  EXPECT_EQ(best["objectives"].dump(), R"({"accuracy":3.0,"seconds":2.0})");
  EXPECT_EQ(best["front"], 1);
  EXPECT_EQ(output_.document["trials"][1]["front"], 2);
  EXPECT_THAT(output_.text, AllOf(HasSubstr("maximize accuracy, minimize seconds"), HasSubstr("front")));
}

TEST_F(TrialsLeaderboard, BestOfSeveralObjectivesAreThoseThatNobodyBeats) {
  RunTwoObjectives();
  TrialsBest({folder_.path(), 5}, output_);
  EXPECT_EQ(Numbers(), (std::vector{3, 0}));
  EXPECT_EQ(output_.brief, "3\n0\n");
  EXPECT_THAT(output_.text, HasSubstr("slipway trials pareto"));
}

TEST_F(TrialsLeaderboard, ATrialWithoutAValueStandsOnNoFront) {
  RunTwoObjectives({1, std::nan(""), 5, 2});
  TrialsLs({folder_.path(), {}, 0}, output_);
  const auto& failed = output_.document["trials"][3];
  EXPECT_EQ(failed["trial"], 1);
  EXPECT_FALSE(failed.contains("front"));
  EXPECT_TRUE(failed["objectives"]["seconds"].is_null());
}

TEST_F(TrialsLeaderboard, RepeatsAreOneLineRankedByTheirMean) {
  RunRepeats();
  TrialsLs({folder_.path(), {}, 0}, output_);
  ASSERT_EQ(output_.document["configurations"].size(), 2u);
  const auto& first = output_.document["configurations"][0];
  EXPECT_EQ(first["configuration"], 1);
  EXPECT_EQ(first["rank"], 1);
  EXPECT_EQ(first["trials"].dump(), "[3,4,5]");
  EXPECT_DOUBLE_EQ(first["objectives"]["accuracy"].get<double>(), 0.25);
  EXPECT_DOUBLE_EQ(first["deviation"].get<double>(), 0);
  const auto& second = output_.document["configurations"][1];
  EXPECT_EQ(second["rank"], 2);
  EXPECT_EQ(second["complete"], 2);
  EXPECT_EQ(second["state"], "complete");
  EXPECT_DOUBLE_EQ(second["objectives"]["accuracy"].get<double>(), 0.2) << "the failed one counts for nothing";
  EXPECT_NEAR(second["deviation"].get<double>(), std::sqrt(0.02), 1e-12);
  EXPECT_DOUBLE_EQ(second["least"].get<double>(), 0.1);
  EXPECT_DOUBLE_EQ(second["most"].get<double>(), 0.3);
  EXPECT_EQ(second["attempts"], 3);
  EXPECT_EQ(output_.document["trials"].size(), 6u);
  EXPECT_THAT(output_.text, AllOf(HasSubstr("6 of 27 trials begun (3 of each configuration): 5 complete, 1 failed"),
                                  HasSubstr("mean accuracy"), HasSubstr("2 of 3"), HasSubstr("3-5")));
}

TEST_F(TrialsLeaderboard, BestShowsConfigurationsAndLimitsThem) {
  RunRepeats();
  TrialsBest({folder_.path(), 1}, output_);
  EXPECT_EQ(output_.document["configurations"].size(), 1u);
  EXPECT_EQ(Numbers(), (std::vector{3, 4, 5}));
  EXPECT_EQ(output_.brief, "3\n");
}

TEST_F(TrialsLeaderboard, AStateIsOfSingleRepeats) {
  RunRepeats();
  TrialsLs({folder_.path(), "failed", 0}, output_);
  EXPECT_EQ(Numbers(), (std::vector{2}));
  EXPECT_TRUE(output_.document["configurations"].empty());
  EXPECT_THAT(output_.text, Not(HasSubstr("mean")));
}

TEST_F(TrialsLeaderboard, ShowPlacesARepeatAmongTheOthers) {
  RunRepeats();
  TrialsShow({folder_.path(), 1}, output_);
  EXPECT_THAT(output_.text, AllOf(HasSubstr("trial 1: complete, accuracy 0.3"),
                                  HasSubstr("repeat 2 of 3 of configuration 0, rank 2: mean accuracy 0.2, "
                                            "deviation 0.141")));
  EXPECT_EQ(output_.document["rank"], 2);
  EXPECT_EQ(output_.document["configuration"], 0);
}

TEST_F(TrialsLeaderboard, FrontsOfRepeatsAreOfTheirMeans) {
  auto options = Grid("[0, 1]");
  options.repeats = 2;
  options.objectives = {{"accuracy", Goal::kMaximize}, {"seconds", Goal::kMinimize}};
  // Single trials: (3, 9), (1, 1), (2, 4), (3, 4). Means: (2, 5) and (2.5, 4), which is better in both.
  Run(options, [](TrialNumber trial, int, const Json&) {
    constexpr double kAccuracies[] = {3, 1, 2, 3};
    constexpr double kSeconds[] = {9, 1, 4, 4};
    auto script = ensemble::Reports("accuracy", kAccuracies[trial]);
    script.metrics.push_back({0, 0, "seconds", 1, {}, kSeconds[trial]});
    return script;
  });
  TrialsPareto({folder_.path(), false, 0}, output_);
  ASSERT_EQ(output_.document["trials"].size(), 1u);
  EXPECT_EQ(output_.document["trials"][0]["trial"], 2);
  EXPECT_EQ(output_.document["trials"][0]["values"].dump(), "[2.5,4.0]");
  TrialsBest({folder_.path(), 5}, output_);
  EXPECT_EQ(output_.brief, "2\n");
}

TEST_F(TrialsLeaderboard, ShowTellsTheOutcomeOfEveryAttemptInWords) {
  auto options = Grid("[0]");
  options.retries = 2;
  Run(options, [](TrialNumber, int attempt, const Json&) {
    if (attempt == 1) return ensemble::Exits({0, SIGSEGV}, "rank 0: gone");
    if (attempt == 2) return ensemble::Exits({3, 0}, "rank 0: bad\nlast lines of the log");
    return ensemble::Reports("accuracy", std::nan(""));
  });
  TrialsShow({folder_.path(), 0}, output_);
  EXPECT_THAT(output_.text, AllOf(HasSubstr("killed"), HasSubstr("failed"), HasSubstr("no objective")));
  EXPECT_THAT(output_.text, Not(HasSubstr("last lines"))) << "a table has lines of its own";
  EXPECT_EQ(output_.document["attempts"][0]["outcome"], "killed");
  EXPECT_EQ(output_.document["attempts"][2]["outcome"], "no_objective");
}

TEST_F(TrialsLeaderboard, TheModelEnsembleIsTold) {
  RunTwoObjectives();
  WriteModels(
      R"({"metric":"accuracy","score":0.75,"other_scores":{"log_loss":0.5},"candidates":4,"members":[{"trial":3,"count":3,"weight":0.75},
                  {"trial":0,"count":1,"weight":0.25}]})");
  TrialsBest({folder_.path(), 5}, output_);
  EXPECT_THAT(output_.text,
              HasSubstr("model ensemble: accuracy 0.75 by 2 of 4 trials: 3 (0.750), 0 (0.250); log_loss 0.5"));
  EXPECT_EQ(output_.document["model_ensemble"]["members"][1]["weight"], 0.25);
  TrialsShow({folder_.path(), 3}, output_);
  EXPECT_THAT(output_.text, HasSubstr("member of the model ensemble with weight 0.750"));
}

TEST_F(TrialsLeaderboard, ADamagedModelEnsembleIsNotTold) {
  RunTwoObjectives();
  for (const char* text : {"", "{", "[]", "{\"metric\":1}", "{\"members\":{}}", "null"}) {
    WriteModels(text);
    EXPECT_FALSE(ReadModelEnsemble(folder_.path())) << text;
  }
  TrialsLs({folder_.path(), {}, 0}, output_);
  EXPECT_FALSE(output_.document.contains("model_ensemble"));
}

}  // namespace
}  // namespace slipway::launcher
