// The trials whose averaged predictions are best, chosen at the end of a run.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/files.h"
#include "tests/end_to_end/workplace.h"
#include "tests/support/numpy_text.h"

namespace slipway::test {
namespace {
namespace fs = std::filesystem;

using testing::HasSubstr;

/// Two trials that are right about different records of three; together they know all.
class ModelEnsemble : public testing::Test {
 protected:
  void SetUp() override {
    WriteOutputs("right-0.npy", {0.9F, 0.1F, 0.2F, 0.8F, 0.6F, 0.4F});
    WriteOutputs("right-1.npy", {0.6F, 0.4F, 0.6F, 0.4F, 0.1F, 0.9F});
    place_.Write("labels.npy", NpyText("|u1", "(3,)", std::string("\0\1\1", 3)));
  }

  void WriteOutputs(const std::string& name, const std::vector<float>& outputs) const {
    place_.Write(name, NpyText("<f4", "(3, 2)", std::string(reinterpret_cast<const char*>(outputs.data()), 24)));
  }

  void WriteSpec(const std::string& command, const std::string& select) const {
    place_.WriteSpec("exp.yaml", command, 1,
                     "  metrics: {from: stdout, pattern: 'FoM: (?<objective>\\S+)'}\n"
                     "ensemble:\n"
                     "  objective: {metric: objective, goal: maximize}\n"
                     "  sampler: grid\n"
                     "  space: {x: {int: [0, 1]}}\n"
                     "  select: " +
                         select + "\n");
  }

  Workplace place_;
};

constexpr auto kPredicting =
    "[sh, -c, 'cp right-$1.npy $SLIPWAY_RUN_DIR/predictions.npy; cp labels.npy $SLIPWAY_RUN_DIR/targets.npy; "
    "echo FoM: 0.$1', trial, '{x}']";

TEST_F(ModelEnsemble, IsChosenAtTheEndOfARunAndShown) {
  WriteSpec(kPredicting, "{top: 2, metric: accuracy}");
  const auto ran = place_.Slipway({"run", "exp.yaml", "--json"});
  ASSERT_EQ(ran.status.code, 0) << ran.errors;
  const auto models = Json::parse(ran.output)["model_ensemble"];
  EXPECT_EQ(models["score"], 1);
  EXPECT_EQ(models["members"].size(), 2u);
  const auto written = ReadFile(place_.RunFolder() / "ensemble.json");
  EXPECT_EQ(Json::parse(written)["schema"], "slipway.ensemble/1");
  EXPECT_EQ(place_.Status()["model_ensemble"], models);
  EXPECT_THAT(place_.Slipway({"status"}).output, HasSubstr("model ensemble  accuracy 1 by 2 of 2 trials: 0 (0.500)"));
  EXPECT_EQ(Json::parse(place_.Slipway({"trials", "best", "--json"}).output)["model_ensemble"], models);
  ASSERT_EQ(place_.Slipway({"trials", "select", "--top", "2", "--metric", "accuracy"}).status.code, 0);
  EXPECT_EQ(ReadFile(place_.RunFolder() / "ensemble.json"), written) << "it is what the command writes";
}

TEST_F(ModelEnsemble, IsChosenAgainByAResumedRun) {
  auto waits = std::string(kPredicting);
  waits.insert(waits.find("cp right"), "test $1 = 0 || test -e go || sleep 60; ");
  WriteSpec(waits, "{method: best, top: 1}");
  auto run = place_.Start({"run", "exp.yaml"});
  place_.WaitForFile(place_ / "runs");
  place_.WaitForFile(place_.RunFolder() / "trials/00001/attempt-1/rank-00000.log");
  run.Signal(SIGINT);
  ASSERT_EQ(run.Wait().code, 130);
  EXPECT_FALSE(fs::exists(place_.RunFolder() / "ensemble.json")) << "the ensemble is not over";
  place_.Write("go", "");
  ASSERT_EQ(place_.Slipway({"resume", "last"}).status.code, 0);
  EXPECT_EQ(place_.Status()["model_ensemble"]["members"][0]["trial"], 1);
}

TEST_F(ModelEnsemble, WithoutPredictionsIsAWarningNotAFailure) {
  WriteSpec("[sh, -c, 'echo FoM: 0.$1', trial, '{x}']", "{}");
  const auto ran = place_.Slipway({"run", "exp.yaml"});
  EXPECT_EQ(ran.status.code, 0) << ran.errors;
  EXPECT_THAT(ran.errors, HasSubstr("there is no model ensemble: no complete trial has predictions"));
  EXPECT_THAT(ran.errors, HasSubstr("$SLIPWAY_RUN_DIR"));
  EXPECT_THAT(ReadFile(place_.RunFolder() / "events.jsonl"), HasSubstr("no_model_ensemble"));
  EXPECT_FALSE(place_.Status().contains("model_ensemble"));
}

}  // namespace
}  // namespace slipway::test
