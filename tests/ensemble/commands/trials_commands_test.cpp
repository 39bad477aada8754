#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/output.h"
#include "launcher/cli/commands/trials.h"
#include "tests/ensemble/manager/fake_runner.h"
#include "tests/support/kept_output.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

using ensemble::FakeRunner;
using testing::HasSubstr;

/// Trials with 0.1, 0.2, 0.3 that report just this; the one with 0.2 fails.
class TrialsCommands : public testing::Test {
 protected:
  void SetUp() override {
    FakeRunner runner([](ensemble::TrialNumber, int, const Json& parameters) {
      const double lr = parameters.at("lr").get<double>();
      auto script = lr == 0.2 ? ensemble::Exits({3, 0}, "rank 0: bad") : ensemble::Reports("accuracy", lr);
      script.metrics.push_back({0, 0, "loss", 2, 1.0, std::nan("")});
      return script;
    });
    ensemble::EnsembleOptions options;
    options.objectives = {{"accuracy"}};
    options.trials = 9;
    options.space = ensemble::ParseSpace(Json::parse(R"({"lr":{"choice":[0.1,0.2,0.3]}})"));
    auto book = ensemble::TrialBook::OpenForWriting(folder_.path());
    ensemble::CountingObserver observer;
    RunEnsemble(book, options, runner, observer);
  }

  test::TempDirectory folder_;
  test::KeptOutput output_;
};

TEST_F(TrialsCommands, LsRanksTheCompleteAndListsTheRest) {
  EXPECT_EQ(TrialsLs({folder_.path(), {}, 0}, output_), 0);
  EXPECT_EQ(output_.document["schema"], "slipway.trials/1");
  ASSERT_EQ(output_.document["trials"].size(), 3u);
  EXPECT_EQ(output_.document["trials"][0]["trial"], 2);
  EXPECT_EQ(output_.document["trials"][0]["rank"], 1);
  EXPECT_EQ(output_.document["trials"][0]["parameters"]["lr"], 0.3);
  EXPECT_EQ(output_.document["trials"][2]["state"], "failed");
  EXPECT_TRUE(output_.document["trials"][2]["rank"].is_null());
  EXPECT_EQ(output_.document["counts"]["complete"], 2);
  EXPECT_THAT(output_.text, HasSubstr("3 of 9 trials begun: 2 complete, 1 failed; maximize accuracy, sampler grid"));
  EXPECT_THAT(output_.text, HasSubstr("lr=0.3"));
}

TEST_F(TrialsCommands, LsFiltersAndLimits) {
  TrialsLs({folder_.path(), "failed", 0}, output_);
  ASSERT_EQ(output_.document["trials"].size(), 1u);
  TrialsLs({folder_.path(), {}, 2}, output_);
  EXPECT_EQ(output_.brief, "2\n0\n");
}

TEST_F(TrialsCommands, LsNamesTheNearestState) {
  try {
    TrialsLs({folder_.path(), "completed", 0}, output_);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_THAT(error.what(), HasSubstr("did you mean 'complete'?"));
  }
}

TEST_F(TrialsCommands, BestShowsOnlyRankedTrials) {
  TrialsBest({folder_.path(), 1}, output_);
  EXPECT_EQ(output_.document["schema"], "slipway.trials.best/1");
  EXPECT_EQ(output_.brief, "2\n");
}

TEST_F(TrialsCommands, ShowTellsEverythingOfOneTrial) {
  TrialsShow({folder_.path(), 1}, output_);
  EXPECT_EQ(output_.document["schema"], "slipway.trials.show/1");
  EXPECT_EQ(output_.document["attempts"][0]["exit_code"], 3);
  EXPECT_EQ(output_.document["metrics"][0]["value"], "NaN");
  EXPECT_THAT(output_.document["folder"], testing::EndsWith("trials/00001"));
  EXPECT_THAT(output_.text, HasSubstr("trial 1: failed (exit status 3: rank 0: bad)"));
  EXPECT_THROW(TrialsShow({folder_.path(), 3}, output_), Error);
}

}  // namespace
}  // namespace slipway::launcher
