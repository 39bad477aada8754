// The experiments of ./quickstart, smaller: real images, the bundled trainer, two MPI ranks, a ranked ensemble.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "core/files.h"
#include "tests/end_to_end/workplace.h"
#include "tests/support/mllog_rules.h"

namespace slipway::test {
namespace {
namespace fs = std::filesystem;

using testing::HasSubstr;

constexpr auto kImages = "/usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz";
constexpr auto kLabels = "/usr/share/datasets/fashion-mnist/t10k-labels-idx1-ubyte.gz";
const std::string kSpec = SLIPWAY_SOURCE_DIR "/configs/fashion.yaml";
const std::string kEnsembleSpec = SLIPWAY_SOURCE_DIR "/configs/fashion-ensemble.yaml";

/// The smaller of the two real sets serves as both training and test data.
class Fashion : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(kImages)) GTEST_SKIP() << "the Debian package dataset-fashion-mnist is not installed";
    place_.SetVariable("SLIPWAY_DATA_ROOT", (place_ / "data").string());
    fs::create_directories(place_ / "data/fashion");
    Convert("tfrecord", "data/fashion/train");
    Convert("hdf5", "data/fashion/test.h5");
  }

  void Convert(const std::string& format, const std::string& destination) const {
    const auto converted =
        place_.Slipway({"data", "convert", "--images", kImages, "--labels", kLabels, "--to", format, destination});
    ASSERT_EQ(converted.status.code, 0) << converted.errors;
  }

  Captured Run(const std::string& spec, std::vector<std::string> settings, const std::string& form = "--json") const {
    std::vector<std::string> words{"run", spec, "--engine", "local", form};
    for (auto& setting : settings) words.insert(words.end(), {"--set", std::move(setting)});
    return place_.Slipway(words);
  }

  Workplace place_;
};

const std::vector<std::string> kSmall{"train.args.epochs=1", "train.args.train_images=2560", "train.args.channels=8"};

std::vector<std::string> With(std::vector<std::string> settings, std::vector<std::string> more) {
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

TEST_F(Fashion, WritesTheLogOfMlperf) {
  const auto ran = Run(kSpec, With(kSmall, {"mllog.write=true", "train.args.epochs=2"}));
  ASSERT_EQ(ran.status.code, 0) << ran.errors;
  const auto lines = ReadMllogLines(place_.RunFolder() / "mllog.txt");
  EXPECT_THAT(FaultsOf(lines, Program::kTrainer), testing::IsEmpty());
  EXPECT_EQ(StatusOf(lines), "success");
  EXPECT_EQ(ValueOf(lines, "submission_benchmark"), "fashion");
  EXPECT_EQ(ValueOf(lines, "global_batch_size"), 128);
  EXPECT_EQ(ValueOf(lines, "train_samples"), 2560);
  EXPECT_EQ(ValueOf(lines, "eval_samples"), 1000);
  EXPECT_EQ(ValueOf(lines, "opt_name"), "adam");
  EXPECT_EQ(ValueOf(lines, "opt_base_learning_rate"), 0.001);
  EXPECT_EQ(ValueOf(lines, "seed"), 1);
  EXPECT_THAT(KeysOf(lines), testing::IsSupersetOf({"epoch_start 1", "epoch_stop 1", "eval_accuracy 1",
                                                    "tracked_stats 1", "epoch_start 2", "eval_stop 2"}));
}

TEST_F(Fashion, TrainsOnTwoRanksFromStagedData) {
  const auto ran = Run(kSpec, kSmall);
  ASSERT_EQ(ran.status.code, 0) << ran.errors;
  const auto metrics = Json::parse(ran.output)["metrics"];
  EXPECT_GT(metrics["validation_accuracy"].get<double>(), 0.5);
  EXPECT_GT(metrics["test_accuracy"].get<double>(), 0.5);
  EXPECT_EQ(metrics["replicas_match"], 1);
  const auto exchange = Json::parse(ReadFile(place_.RunFolder() / "attempt-1/comm.json"));
  EXPECT_EQ(exchange["teams"][0]["steps"], 20);  // the trainer has left its team before it left the job
  EXPECT_TRUE(place_.StagedFiles().empty());
}

TEST_F(Fashion, ReachesTheSameAccuracyOnOneRankAtEqualGlobalBatch) {
  std::vector<double> accuracies;
  for (const int ranks : {1, 2}) {
    const auto ran = Run(kSpec, With(kSmall, {"launch.ranks_per_node=" + std::to_string(ranks),
                                              "train.args.batch_size=" + std::to_string(64 / ranks)}));
    ASSERT_EQ(ran.status.code, 0) << ran.errors;
    accuracies.push_back(Json::parse(ran.output)["metrics"]["test_accuracy"]);
  }
  EXPECT_NEAR(accuracies[0], accuracies[1], 0.01);
}

TEST_F(Fashion, ContinuesFromItsCheckpointAfterCtrlC) {
  std::vector<std::string> words{
      "run", kSpec, "--engine", "local", "--set", "train.args.epochs=4", "--set", "train.args.channels=8"};
  auto run = place_.Start(words);
  place_.WaitForFile(place_ / "runs");
  const auto metrics = place_.RunFolder() / "attempt-1/metrics.jsonl";
  place_.WaitForFile(metrics);
  while (ReadFile(metrics).empty()) ::usleep(20'000);
  run.Signal(SIGINT);
  ASSERT_EQ(run.Wait().code, 130) << ReadFile(place_ / "output.log");
  EXPECT_THAT(ReadFile(place_ / "output.log"), HasSubstr("stopping as asked"));
  const auto resumed = place_.Slipway({"resume", "last"});
  EXPECT_EQ(resumed.status.code, 0) << resumed.errors;
  EXPECT_THAT(resumed.errors, HasSubstr("continuing from"));
}

TEST_F(Fashion, RanksAnEnsembleOfTrainings) {
  const auto ran = Run(kEnsembleSpec, {"train.args.train_images=640", "train.args.channels=4", "ensemble.trials=4"});
  ASSERT_EQ(ran.status.code, 0) << ran.errors;
  const auto document = Json::parse(ran.output);
  EXPECT_EQ(document["trials"]["complete"], 4);
  const auto best = Json::parse(place_.Slipway({"trials", "best", "--json"}).output);
  EXPECT_EQ(best["trials"].size(), 4u);
  EXPECT_EQ(best["trials"][0]["trial"], document["best"]["trial"]);
}

/// Halved at each epoch, as the trainer knows; in the end the models are averaged.
TEST_F(Fashion, EndsTrialsAtTheirRungsAndSelectsModels) {
  const auto ran = Run(kEnsembleSpec, {"train.args.train_images=640", "train.args.channels=4", "train.args.epochs=4",
                                       "ensemble.trials=6", "ensemble.select={top: 2}",
                                       "ensemble.scheduler={type: asha, min: 1, max: 4, reduction: 2}"});
  ASSERT_EQ(ran.status.code, 0) << ran.errors;
  EXPECT_FALSE(Json::parse(ran.output)["model_ensemble"]["members"].empty());
  const auto list = Json::parse(place_.Slipway({"trials", "ls", "--json"}).output);
  EXPECT_EQ(list["counts"].value("failed", 0), 0);
  for (const auto& trial : list["trials"]) {
    const auto number = std::to_string(trial["trial"].get<int>());
    const auto shown = Json::parse(place_.Slipway({"trials", "show", number, "--json"}).output);
    const double epochs = shown["metrics"].back()["epoch"];
    EXPECT_THAT(epochs, testing::AnyOf(1, 2, 4)) << "nothing beyond a rung: trial " << number;
  }
}

/// Parents train on while their copies begin: what those begin with must not be gone then.
TEST_F(Fashion, APopulationGoesOnFromItsBest) {
  const auto ran = Run(kEnsembleSpec, {"train.args.train_images=640", "train.args.channels=4", "train.args.epochs=5",
                                       "ensemble.trials=6", "checkpoint.keep=1",
                                       "ensemble.scheduler={type: pbt, interval: 1, population: 2}"});
  ASSERT_EQ(ran.status.code, 0) << ran.errors;
  const auto list = Json::parse(place_.Slipway({"trials", "ls", "--json"}).output);
  EXPECT_EQ(list["counts"].value("failed", 0), 0) << list["counts"];
  int children = 0;
  for (const auto& trial : list["trials"]) children += trial["parent"].is_null() ? 0 : 1;
  EXPECT_GE(children, 1);
}

TEST_F(Fashion, RepeatsBeginWithOtherWeights) {
  const auto ran = Run(kEnsembleSpec, {"train.args.train_images=640", "train.args.channels=4", "ensemble.trials=1",
                                       "ensemble.parallel=1", "ensemble.repeats=2"});
  ASSERT_EQ(ran.status.code, 0) << ran.errors;
  const auto best = Json::parse(place_.Slipway({"trials", "best", "--json"}).output);
  EXPECT_GT(best["configurations"][0]["deviation"], 0);
}

TEST_F(Fashion, RunsFromAnInstalledTree) {
  SpawnOptions install;
  install.argv = {"cmake", "--install", SLIPWAY_BUILD_DIR, "--prefix", (place_ / "installed").string()};
  const auto installed = RunAndCapture(install);
  ASSERT_EQ(installed.status.code, 0) << installed.errors;
  fs::rename(place_ / "installed", place_ / "moved");  // any place will do
  for (const auto* page : {"slipway.1", "slipway-run.1", "slipway-trials-best.1"}) {
    EXPECT_TRUE(fs::exists(place_ / "moved/share/man/man1" / page)) << page;
  }
  SpawnOptions run;
  run.argv = {(place_ / "moved/bin/slipway").string(),
              "run",
              "--engine",
              "local",
              "--runs-dir",
              (place_ / "runs").string(),
              (place_ / "moved/share/slipway/configs/fashion.yaml").string()};
  for (const auto& setting : kSmall) run.argv.insert(run.argv.end(), {"--set", setting});
  run.environment = Environment::Inherited()
                        .Set("SLIPWAY_DATA_ROOT", (place_ / "data").string())
                        .Set("SLIPWAY_TIER_RAM", (place_ / "ram").string());
  const auto ran = RunAndCapture(run);
  EXPECT_EQ(ran.status.code, 0) << ran.errors << ran.output;
}

}  // namespace
}  // namespace slipway::test
