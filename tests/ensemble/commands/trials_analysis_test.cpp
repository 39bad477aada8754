#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"
#include "launcher/cli/commands/trials_importance.h"
#include "launcher/cli/commands/trials_pareto.h"
#include "launcher/cli/commands/trials_select.h"
#include "launcher/trials/model_ensemble.h"
#include "tests/ensemble/analysis/numpy_values.h"
#include "tests/ensemble/manager/fake_runner.h"
#include "tests/support/kept_output.h"
#include "tests/support/numpy_text.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

using ensemble::FakeRunner;
using test::BytesOfValues;
using test::NpyText;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

/// Trials of a grid over x in {0, 1, 2, 3} and y in {0, 1, 2}: trial 3 x + y reports accuracy x - 0.1 y and loss x. The
/// last one fails.
class TrialsAnalysis : public testing::Test {
 protected:
  void Run(const std::vector<ensemble::Objective>& objectives, int trials = 12, int repeats = 1) {
    FakeRunner runner([](ensemble::TrialNumber trial, int, const Json& parameters) {
      if (trial == 11) return ensemble::Exits({3, 0}, "rank 0: bad");
      const double x = parameters.at("x").get<double>();
      auto script = ensemble::Reports("accuracy", x - 0.1 * parameters.at("y").get<double>());
      script.metrics.push_back({0, 0, "loss", 2, 1.0, x});
      return script;
    });
    ensemble::EnsembleOptions options;
    options.objectives = objectives;
    options.trials = trials;
    options.repeats = repeats;
    options.sampler = "grid";
    options.space = ensemble::ParseSpace(Json::parse(R"({"x":{"choice":[0,1,2,3]},"y":{"choice":[0,1,2]}})"));
    auto book = ensemble::TrialBook::OpenForWriting(folder_.path());
    ensemble::CountingObserver observer;
    RunEnsemble(book, options, runner, observer);
  }
  void RunForAccuracy(int trials = 12) { Run({{"accuracy", ensemble::Goal::kMaximize}}, trials); }

  /// Outputs for three records of two classes, and what is right in the folder of the run.
  void WritePredictions(int trial, const std::vector<float>& outputs) {
    const auto folder = FolderOf(trial);
    MakeDirectories(folder);
    WriteFile(folder / "predictions.npy", NpyText("<f4", "(3, 2)", BytesOfValues(outputs)));
  }
  std::filesystem::path FolderOf(int trial) const {
    const auto number = std::to_string(trial);
    return folder_.path() / "trials" / (std::string(5 - number.size(), '0') + number);
  }
  void WriteTargets(const std::filesystem::path& folder, const std::string& labels = std::string("\0\1\1", 3)) {
    WriteFile(folder / "targets.npy", NpyText("|u1", "(3,)", labels));
  }
  void WriteOrder(const std::filesystem::path& npy, const std::string& schema, const std::string& order) {
    const Json document{{"schema", schema}, {"records", 3}, {"order", order}};
    WriteFile(std::filesystem::path(npy).replace_extension(".json"), document.dump());
  }

  /// Trials 9 and 10 are the best by the objective. 9 is right about records 0 and 1, 10 about 2 and, barely, 0.
  void WriteStudy() {
    RunForAccuracy();
    WriteTargets(folder_.path());
    WritePredictions(9, {0.9F, 0.1F, 0.2F, 0.8F, 0.6F, 0.4F});
    WritePredictions(10, {0.6F, 0.4F, 0.6F, 0.4F, 0.1F, 0.9F});
  }

  std::string ErrorOf(ErrorKind kind, const std::function<void()>& action) {
    try {
      action();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), kind);
      return error.what();
    }
    return "no error";
  }

  SelectModelsOptions Select() const {
    SelectModelsOptions options;
    options.run_folder = folder_.path();
    return options;
  }

  test::TempDirectory folder_;
  test::KeptOutput output_;
};

TEST_F(TrialsAnalysis, ImportanceRanksTheParameters) {
  RunForAccuracy();
  EXPECT_EQ(TrialsImportance({folder_.path(), true}, output_), 0);
  EXPECT_EQ(output_.document["schema"], "slipway.trials.importance/1");
  EXPECT_EQ(output_.document["method"], "fanova");
  EXPECT_EQ(output_.document["trials"], 11);
  EXPECT_EQ(output_.document["left_out"], 1);
  EXPECT_EQ(output_.document["parameters"][0]["parameter"], "x");
  EXPECT_LE(output_.document["parameters"][0]["low"], output_.document["parameters"][0]["share"]);
  EXPECT_EQ(output_.brief, "x\ny\n");
  EXPECT_THAT(output_.text, AllOf(HasSubstr("importance for accuracy, from 11 trials"),
                                  HasSubstr("(1 ended without a value, left out)"), HasSubstr("range")));
  EXPECT_THAT(output_.document["pairs"][0]["parameters"], ElementsAre("x", "y"));
}

TEST_F(TrialsAnalysis, ImportanceNeedsTrials) {
  RunForAccuracy(4);
  EXPECT_THAT(ErrorOf(ErrorKind::kUsage, [&] { TrialsImportance({folder_.path()}, output_); }),
              HasSubstr("needs at least 10 trials with a value, this ensemble has 4"));
}

TEST_F(TrialsAnalysis, ParetoShowsTheTrialsThatNobodyBeats) {
  Run({{"accuracy", ensemble::Goal::kMaximize}, {"loss", ensemble::Goal::kMinimize}});
  EXPECT_EQ(TrialsPareto({folder_.path(), false, 0}, output_), 0);
  EXPECT_EQ(output_.document["schema"], "slipway.trials.pareto/1");
  std::vector<int> trials;
  for (const auto& row : output_.document["trials"]) trials.push_back(row["trial"].get<int>());
  EXPECT_THAT(trials, testing::UnorderedElementsAre(0, 3, 6, 9));
  EXPECT_THAT(output_.text, HasSubstr("4 of 11 complete trials; maximize accuracy, minimize loss; hypervolume "));
  // Worst: accuracy -0.2 and loss 3, and a tenth of the extents 3.2 and 3 beyond.
  EXPECT_NEAR(output_.document["reference"][0].get<double>(), -0.52, 1e-12);
  EXPECT_NEAR(output_.document["reference"][1].get<double>(), 3.3, 1e-12);
  EXPECT_NEAR(output_.document["hypervolume"].get<double>(), 0.52 * 3.3 + 2.3 + 1.3 + 0.3, 1e-12);
}

TEST_F(TrialsAnalysis, ParetoShowsAllFrontsAndLimits) {
  Run({{"accuracy", ensemble::Goal::kMaximize}, {"loss", ensemble::Goal::kMinimize}});
  TrialsPareto({folder_.path(), true, 0}, output_);
  EXPECT_EQ(output_.document["trials"].size(), 11u);
  EXPECT_EQ(output_.document["trials"][10]["front"], 3);
  TrialsPareto({folder_.path(), true, 2}, output_);
  EXPECT_EQ(output_.brief, "0\n9\n");  // the ends of the first front
}

TEST_F(TrialsAnalysis, ParetoNeedsSeveralObjectives) {
  RunForAccuracy();
  EXPECT_THAT(ErrorOf(ErrorKind::kUsage,
                      [&] {
                        TrialsPareto({folder_.path(), false, 0}, output_);
                      }),
              AllOf(HasSubstr("one objective, accuracy"), HasSubstr("slipway trials best")));
}

TEST_F(TrialsAnalysis, SelectCombinesTrialsThatKnowDifferentThings) {
  WriteStudy();
  auto options = Select();
  options.metric = "accuracy";
  EXPECT_EQ(TrialsSelect(options, output_), 0);
  const auto& document = output_.document;
  EXPECT_EQ(document["schema"], "slipway.trials.select/1");
  EXPECT_EQ(document["metric"], "accuracy");
  EXPECT_EQ(document["score"], 1);
  EXPECT_NEAR(document["best_single"]["score"].get<double>(), 2.0 / 3, 1e-12);
  EXPECT_EQ(document["members"].size(), 2u);
  EXPECT_EQ(document["members"][0]["folder"], "trials/00009");
  EXPECT_EQ(document["candidates"], 2);
  EXPECT_EQ(document["left_out"].size(), 9u);
  EXPECT_THAT(output_.warnings, HasSubstr("trial 0 is left out: it has no predictions.npy"));
  EXPECT_THAT(output_.text, HasSubstr("accuracy 1 by 2 of 2 trials on 3 validation records"));
  EXPECT_EQ(output_.brief, "9\n10\n");
  options.metric = "logloss";
  EXPECT_THAT(ErrorOf(ErrorKind::kUsage, [&] { TrialsSelect(options, output_); }),
              HasSubstr("unknown metric 'logloss'; did you mean 'log_loss'?"));
}

/// Configurations 0, 1, 2 of two repeats each, the first one (trials 0 and 1) the best; each of its repeats is wrong
/// about another record, together they are right about all. Trial 5 has no predictions.
class TrialsWithRepeats : public TrialsAnalysis {
 protected:
  void SetUp() override {
    Run({{"accuracy", ensemble::Goal::kMaximize}}, 3, 2);
    WriteTargets(folder_.path());
    WritePredictions(0, {0.9F, 0.1F, 0.6F, 0.4F, 0.2F, 0.8F});
    WritePredictions(1, {0.9F, 0.1F, 0.1F, 0.9F, 0.6F, 0.4F});
    WritePredictions(2, {0.4F, 0.6F, 0.6F, 0.4F, 0.6F, 0.4F});
    WritePredictions(3, {0.4F, 0.6F, 0.6F, 0.4F, 0.6F, 0.4F});
    WritePredictions(4, {0.4F, 0.6F, 0.4F, 0.6F, 0.4F, 0.6F});
  }
};

TEST_F(TrialsWithRepeats, SelectTakesTheRepeatsOfAConfigurationAsOneMember) {
  auto options = Select();
  options.by = "configuration";
  options.metric = "accuracy";
  options.top = 1;
  EXPECT_EQ(TrialsSelect(options, output_), 0);
  EXPECT_EQ(output_.document["score"], 1) << "the average of its repeats, which score 2/3 each";
  EXPECT_EQ(output_.document["candidates"], 3);
  const auto& member = output_.document["members"][0];
  EXPECT_EQ(member["configuration"], 0);
  EXPECT_THAT(member["trials"], ElementsAre(0, 1));
  EXPECT_THAT(member["folders"], ElementsAre("trials/00000", "trials/00001"));
  EXPECT_EQ(output_.document["best_single"]["configuration"], 0);
  EXPECT_EQ(output_.brief, "0\n");
  EXPECT_THAT(output_.text, HasSubstr("accuracy 1 by 1 of 3 configurations on 3 validation records"));
}

TEST_F(TrialsWithRepeats, SelectTakesSingleOnesWhereNothingElseIsAsked) {
  auto options = Select();
  options.metric = "accuracy";
  options.top = 1;
  TrialsSelect(options, output_);
  EXPECT_NEAR(output_.document["score"].get<double>(), 2.0 / 3, 1e-12);
  EXPECT_EQ(output_.document["candidates"], 5);
  EXPECT_FALSE(output_.document["members"][0].contains("trials"));
}

TEST_F(TrialsWithRepeats, AConfigurationWithoutARepeatIsTheAverageOfTheOthers) {
  auto options = Select();
  options.by = "configuration";
  options.method = "best";
  TrialsSelect(options, output_);
  EXPECT_THAT(output_.warnings, HasSubstr("trial 5 is left out"));
  EXPECT_THAT(output_.document["members"][2]["trials"], ElementsAre(4));
}

TEST_F(TrialsWithRepeats, EachRepeatOfAMemberHasItsShareOfTheWeight) {
  auto options = Select();
  options.by = "configuration";
  options.method = "best";
  options.top = 2;
  TrialsSelect(options, output_);
  const auto models = ReadModelEnsemble(folder_.path());
  ASSERT_TRUE(models);
  EXPECT_EQ(WeightOf(*models, 1), 0.25);
  EXPECT_EQ(WeightOf(*models, 4), std::nullopt);
  EXPECT_THAT(Describe(*models), HasSubstr("by 2 of 3 configurations: 0 (0.500), 1 (0.500)"));
}

TEST_F(TrialsAnalysis, SelectTellsTheOtherScoreToo) {
  WriteStudy();
  TrialsSelect(Select(), output_);
  EXPECT_EQ(output_.document["metric"], "log_loss");
  EXPECT_EQ(output_.document["other_scores"]["accuracy"], 1);
  EXPECT_THAT(output_.text, HasSubstr("on 3 validation records; accuracy 1\n"));
}

TEST_F(TrialsAnalysis, SelectTakesVotesByTheirAccuracy) {
  WriteStudy();
  WritePredictions(9, {1, 0, 0, 1, 1, 0});
  TrialsSelect(Select(), output_);
  EXPECT_EQ(output_.document["metric"], "accuracy");
}

TEST_F(TrialsAnalysis, SelectWritesTheSameFileForTheSameInputs) {
  WriteStudy();
  TrialsSelect(Select(), output_);
  const auto first = ReadFile(folder_ / "ensemble.json");
  EXPECT_EQ(Json::parse(first)["schema"], "slipway.ensemble/1");
  TrialsSelect(Select(), output_);
  EXPECT_EQ(ReadFile(folder_ / "ensemble.json"), first);
  WritePredictions(10, {0.7F, 0.3F, 0.6F, 0.4F, 0.1F, 0.9F});
  TrialsSelect(Select(), output_);
  EXPECT_NE(Json::parse(ReadFile(folder_ / "ensemble.json"))["inputs"], Json::parse(first)["inputs"]);
}

TEST_F(TrialsAnalysis, SelectTakesTheBestByTheObjectiveWhenAsked) {
  WriteStudy();
  auto options = Select();
  options.method = "best";
  options.top = 1;
  options.metric = "log_loss";
  options.out = folder_ / "one.json";
  TrialsSelect(options, output_);
  EXPECT_EQ(output_.brief, "9\n");
  EXPECT_EQ(output_.document["goal"], "minimize");
  EXPECT_EQ(output_.document["file"], (folder_ / "one.json").string());
  EXPECT_FALSE(std::filesystem::exists(folder_ / "ensemble.json"));
}

TEST_F(TrialsAnalysis, SelectTakesTargetsThatAllTrialsShare) {
  WriteStudy();
  std::filesystem::remove(folder_ / "targets.npy");
  WriteTargets(FolderOf(9));
  TrialsSelect(Select(), output_);
  EXPECT_EQ(output_.brief, "9\n");
  EXPECT_THAT(output_.warnings, HasSubstr("trial 10 is left out: it has no targets.npy"));
  WriteTargets(FolderOf(10));
  TrialsSelect(Select(), output_);
  EXPECT_EQ(output_.brief, "9\n10\n");
  WriteTargets(FolderOf(10), std::string("\0\0\1", 3));
  EXPECT_THAT(ErrorOf(ErrorKind::kEnvironment, [&] { TrialsSelect(Select(), output_); }),
              AllOf(HasSubstr("00009/targets.npy'"), HasSubstr("00010/targets.npy' differ")));
}

TEST_F(TrialsAnalysis, SelectRefusesAnotherOrderOfTheRecords) {
  WriteStudy();
  WriteOrder(folder_ / "targets.npy", "slipway.targets/1", "0011223344556677");
  WriteOrder(FolderOf(9) / "predictions.npy", "slipway.predictions/1", "0011223344556677");
  TrialsSelect(Select(), output_);
  EXPECT_EQ(output_.document["order"], "0011223344556677");
  WriteOrder(FolderOf(10) / "predictions.npy", "slipway.predictions/1", "7766554433221100");
  EXPECT_THAT(ErrorOf(ErrorKind::kEnvironment, [&] { TrialsSelect(Select(), output_); }),
              AllOf(HasSubstr("00010/predictions.npy'"), HasSubstr("targets.npy' in the order 0011223344556677")));
}

TEST_F(TrialsAnalysis, SelectLeavesDamagedTrialsOut) {
  WriteStudy();
  WriteFile(FolderOf(10) / "predictions.npy", "torn");
  TrialsSelect(Select(), output_);
  EXPECT_EQ(output_.brief, "9\n");
  EXPECT_THAT(output_.warnings, HasSubstr("is no NumPy array"));
}

TEST_F(TrialsAnalysis, SelectSaysHowPredictionsAreHandedOver) {
  RunForAccuracy();
  EXPECT_THAT(ErrorOf(ErrorKind::kUsage, [&] { TrialsSelect(Select(), output_); }),
              AllOf(HasSubstr("no complete trial has predictions"), HasSubstr("trial 9: it has no predictions.npy"),
                    HasSubstr("$SLIPWAY_RUN_DIR")));
}

TEST_F(TrialsAnalysis, SelectLooksOnlyAtTheBestCandidates) {
  WriteStudy();
  auto options = Select();
  options.candidates = 1;
  TrialsSelect(options, output_);
  EXPECT_EQ(output_.document["candidates"], 1);
  EXPECT_EQ(output_.brief, "9\n");
}

}  // namespace
}  // namespace slipway::launcher
