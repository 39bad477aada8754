// The fashion trainer stops when asked, and continues as if it had never stopped.

#include <gmock/gmock.h>

#include <chrono>
#include <thread>

#include "core/checkpoint.h"
#include "tests/trainers/fashion_place.h"

namespace slipway::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const Words kTwoEpochs = {"--epochs", "2", "--batch_size", "16", "--train_images", "640"};

Words With(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

class FashionResumes : public ::testing::TestWithParam<std::pair<int, std::string>> {};

TEST_P(FashionResumes, WithTheWeightsOfARunThatNeverStopped) {
  const auto [ranks, optimizer] = GetParam();
  const auto arguments = With(kTwoEpochs, {"--optimizer", optimizer});
  const FashionPlace uninterrupted;
  ASSERT_EQ(uninterrupted.Train(arguments, ranks).status.code, 0);

  FashionPlace place;
  place.AskToStop();
  const auto stopped = place.Train(arguments, ranks);
  ASSERT_EQ(stopped.status.code, 0) << stopped.errors;
  EXPECT_THAT(stopped.output, HasSubstr("stopping as asked, after step 1"));
  EXPECT_EQ(place.NewestCheckpoint().filename(), "step-000000000001");
  place.Continue();
  place.AskToStop();  // once more: a continued run stops and continues as well
  ASSERT_EQ(place.Train(arguments, ranks).status.code, 0);
  EXPECT_EQ(place.NewestCheckpoint().filename(), "step-000000000002");
  place.Continue();
  const auto resumed = place.Train(arguments, ranks);
  ASSERT_EQ(resumed.status.code, 0) << resumed.errors;
  EXPECT_THAT(resumed.output, HasSubstr("continuing at epoch 1, step 2"));

  EXPECT_TRUE(place.Weights() == uninterrupted.Weights()) << "the bytes of model.pt differ";
  for (const char* metric : {"validation_loss", "validation_accuracy", "test_loss", "test_accuracy"}) {
    EXPECT_EQ(place.Values(metric), uninterrupted.Values(metric)) << metric;
  }
  EXPECT_NEAR(place.LastValues()["train_loss"], uninterrupted.LastValues()["train_loss"], 1e-12);
}
INSTANTIATE_TEST_SUITE_P(Jobs, FashionResumes,
                         ::testing::Values(std::pair(1, std::string("sgd")), std::pair(1, std::string("adam")),
                                           std::pair(2, std::string("adam")), std::pair(1, std::string("lamb"))),
                         [](const auto& job) { return job.param.second + "On" + std::to_string(job.param.first); });

/// An attempt at each rung, each with status 75, and the last one to the end.
TEST(FashionEndsAtItsLimit, AndGoesOnAsIfItHadNeverEnded) {
  for (const int ranks : {1, 2}) {
    const FashionPlace uninterrupted;
    ASSERT_EQ(uninterrupted.Train(kTwoEpochs, ranks).status.code, 0);
    FashionPlace place;
    place.Set("SLIPWAY_RESOURCE", "epoch");
    place.Set("SLIPWAY_RESOURCE_LIMIT", "1");
    const auto first = place.Train(kTwoEpochs, ranks);
    EXPECT_EQ(first.status.code, 75) << first.errors;
    EXPECT_THAT(first.output, HasSubstr("ending at the limit of epoch 1"));
    EXPECT_EQ(place.Values("validation_accuracy").size(), 1u);
    EXPECT_TRUE(place.Values("test_accuracy").empty());
    place.Continue();
    place.Set("SLIPWAY_RESOURCE_LIMIT", "");
    ASSERT_EQ(place.Train(kTwoEpochs, ranks).status.code, 0);
    EXPECT_TRUE(place.Weights() == uninterrupted.Weights()) << "the bytes of model.pt differ";
    EXPECT_EQ(place.Values("validation_accuracy"), uninterrupted.Values("validation_accuracy"));
  }
}

TEST(FashionEndsAtItsLimit, OfStepsAtTheEndOfAnEpochAndNotBehindItsLast) {
  FashionPlace place;
  place.Set("SLIPWAY_RESOURCE", "step");
  place.Set("SLIPWAY_RESOURCE_LIMIT", "10");
  EXPECT_EQ(place.Train(kTwoEpochs).status.code, 75);
  place.Set("SLIPWAY_RESOURCE", "epoch");
  place.Set("SLIPWAY_RESOURCE_LIMIT", "2");
  EXPECT_EQ(place.Train(kTwoEpochs).status.code, 0) << "there is nothing to go on with";
  place.Set("SLIPWAY_RESOURCE_LIMIT", "two");
  const auto wrong = place.Train(kTwoEpochs);
  EXPECT_EQ(wrong.status.code, 2);
  EXPECT_THAT(wrong.errors, HasSubstr("SLIPWAY_RESOURCE_LIMIT is 'two': must be a number"));
}

TEST(FashionThatHasNothingLeftToTrain, ReportsTheValueOfTheWeightsThatItBeganWith) {
  FashionPlace place;
  ASSERT_EQ(place.Train(kTwoEpochs).status.code, 0);
  const auto before = place.Values("validation_accuracy");
  ASSERT_EQ(before.size(), 2u);
  place.Continue();
  ASSERT_EQ(place.Train(kTwoEpochs).status.code, 0);
  const auto after = place.Values("validation_accuracy");
  ASSERT_FALSE(after.empty());
  EXPECT_EQ(after.back(), before.back());
  EXPECT_NE(after, before) << "it is reported again, by the attempt that goes on";
}

TEST(FashionStops, OnAllRanksWhenAskedWhileItTrains) {
  const FashionPlace place;
  std::jthread asker([&place](const std::stop_token& ended) {
    while (!ended.stop_requested() && place.Values("train_loss").empty()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    place.AskToStop();
  });
  // Far more epochs than fit into the time limit of a run.
  const auto result = place.Train({"--epochs", "100000", "--batch_size", "16", "--train_images", "640"}, 2);
  ASSERT_EQ(result.status.code, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("stopping as asked"));
  const auto checkpoint = ReadCheckpoint(place.NewestCheckpoint());
  ASSERT_TRUE(checkpoint);
  EXPECT_THAT(result.output, HasSubstr("after step " + std::to_string(checkpoint->step)));
}

/// Only the first rank holds the sums of such an epoch.
TEST(FashionStops, BehindTheLastStepOfAnEpochAndGoesOn) {
  const Words one_step_an_epoch = {"--epochs", "2", "--global_batch_size", "64", "--train_images", "64"};
  const FashionPlace uninterrupted;
  ASSERT_EQ(uninterrupted.Train(one_step_an_epoch, 2).status.code, 0);
  FashionPlace place;
  place.AskToStop();
  ASSERT_EQ(place.Train(one_step_an_epoch, 2).status.code, 0);
  place.Continue();
  const auto resumed = place.Train(one_step_an_epoch, 2);
  ASSERT_EQ(resumed.status.code, 0) << resumed.errors;
  EXPECT_THAT(resumed.output, HasSubstr("continuing at epoch 1, step 1"));
  EXPECT_TRUE(place.Weights() == uninterrupted.Weights()) << "the bytes of model.pt differ";
}

TEST(FashionStops, AfterTheLastEpochACheckpointHoldsTheResult) {
  FashionPlace place;
  ASSERT_EQ(place.Train(kTwoEpochs).status.code, 0);
  const auto expected = place.LastValues();
  place.Continue();
  const auto again = place.Train(kTwoEpochs);
  ASSERT_EQ(again.status.code, 0) << again.errors;
  EXPECT_EQ(place.LastValues()["test_loss"], expected.at("test_loss"));
  EXPECT_THAT(again.output, Not(HasSubstr("epoch 2  loss")));
}

TEST(FashionStops, WritesCheckpointsAsOftenAsTheSpecAsks) {
  FashionPlace place;
  place.Configure(R"({"checkpoint": {"every_s": 0.0, "keep": 1000}})");
  ASSERT_EQ(place.Train({"--epochs", "1", "--batch_size", "32", "--train_images", "128"}).status.code, 0);
  for (const char* step : {"step-000000000001", "step-000000000002", "step-000000000003", "step-000000000004"}) {
    EXPECT_TRUE(ReadCheckpoint(place.checkpoints() / step)) << step;
  }
}

/// A checkpoint after one step, for the tests that spoil it.
class FashionCheckpoint : public ::testing::Test {
 protected:
  FashionCheckpoint() {
    place_.AskToStop();
    EXPECT_EQ(place_.Train(kTwoEpochs).status.code, 0);
    place_.Continue();
  }

  void ExpectRefusal(const Words& arguments, const std::string& message, int ranks = 1) {
    const auto result = place_.Train(arguments, ranks);
    EXPECT_EQ(result.status.Describe(), "exit status 1");
    EXPECT_THAT(result.errors, HasSubstr(message));
  }

  FashionPlace place_;
};

TEST_F(FashionCheckpoint, OfAnotherModelIsRefused) {
  ExpectRefusal(With(kTwoEpochs, {"--channels", "4"}), "was made with channels 8, now it is 4");
}

TEST_F(FashionCheckpoint, OfAnotherOptimizerIsRefused) {
  ExpectRefusal(With(kTwoEpochs, {"--optimizer", "sgd"}), "was made with optimizer adam, now it is sgd");
}

TEST_F(FashionCheckpoint, OfAnotherOrderOfImagesIsRefused) {
  ExpectRefusal(With(kTwoEpochs, {"--batch_size", "32"}), "was made with global_batch_size 16, now it is 32");
  ExpectRefusal(With(kTwoEpochs, {"--seed", "7"}), "was made with seed 1, now it is 7");
  ExpectRefusal(With(kTwoEpochs, {"--train_images", "320"}), "was made with train_images 640, now it is 320");
}

TEST_F(FashionCheckpoint, ContinuesOnTwoRanksAtTheSameGlobalBatch) {
  const auto result = place_.Train({"--epochs", "1", "--global_batch_size", "16", "--train_images", "640"}, 2);
  ASSERT_EQ(result.status.code, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("continuing at epoch 1, step 1"));
  EXPECT_EQ(place_.LastValues()["replicas_match"], 1);
}

TEST_F(FashionCheckpoint, WithATornFileIsRefused) {
  const auto model = place_.NewestCheckpoint() / "model.pt";
  std::filesystem::resize_file(model, std::filesystem::file_size(model) / 2);
  ExpectRefusal(kTwoEpochs, "is missing or damaged");
}

TEST_F(FashionCheckpoint, WithATornFileThatItsManifestAgreesToIsRefused) {
  const auto prepared = BeginCheckpoint(place_.checkpoints(), 9);
  for (const auto& file : std::filesystem::directory_iterator(place_.NewestCheckpoint())) {
    if (file.path().filename() != "manifest.json") std::filesystem::copy(file, prepared / file.path().filename());
  }
  std::filesystem::resize_file(prepared / "model.pt", std::filesystem::file_size(prepared / "model.pt") / 2);
  CheckpointInfo info;
  info.step = 9;
  place_.Set("SLIPWAY_RESUME_FROM", CommitCheckpoint(prepared, info).native());
  ExpectRefusal(kTwoEpochs, "model.pt");
}

}  // namespace
}  // namespace slipway::test
