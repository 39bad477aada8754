// What the fashion trainer learns and reports, on one rank and on two.

#include <gmock/gmock.h>

#include <cmath>

#include "tests/trainers/fashion_place.h"

namespace slipway::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Fashion, LearnsAndReportsEverythingTheLauncherShows) {
  const FashionPlace place;
  const auto result = place.Train({"--epochs", "2", "--batch_size", "32"});
  ASSERT_EQ(result.status.Describe(), "exit status 0") << result.errors;
  auto last = place.LastValues();
  for (const char* name : {"train_loss", "train_accuracy", "validation_loss", "validation_accuracy",
                           "images_per_second", "test_loss", "test_accuracy", "replicas_match"}) {
    EXPECT_TRUE(last.contains(name)) << name;
  }
  EXPECT_GT(last["validation_accuracy"], 0.6);
  EXPECT_GT(last["test_accuracy"], 0.6);
  EXPECT_LT(last["train_loss"], 1.2);
  EXPECT_EQ(last["replicas_match"], 1);
  EXPECT_THAT(result.output, HasSubstr("epoch 2  loss "));
}

TEST(Fashion, TwoRanksLearnWhatOneRankLearnsAtEqualGlobalBatch) {
  const FashionPlace alone;
  const FashionPlace shared;
  const auto one = alone.Train({"--epochs", "1", "--batch_size", "32"});
  const auto two = shared.Train({"--epochs", "1", "--batch_size", "16"}, 2);
  ASSERT_EQ(one.status.code, 0) << one.errors;
  ASSERT_EQ(two.status.code, 0) << two.errors;
  auto expected = alone.LastValues();
  auto actual = shared.LastValues();
  EXPECT_NEAR(actual["train_loss"], expected["train_loss"], 0.01);
  EXPECT_NEAR(actual["validation_accuracy"], expected["validation_accuracy"], 0.01);
  EXPECT_NEAR(actual["test_accuracy"], expected["test_accuracy"], 0.01);
  EXPECT_EQ(actual["replicas_match"], 1);
}

TEST(Fashion, CountsEveryTestImageOnceWhateverTheNumberOfRanks) {
  const FashionPlace alone;
  const FashionPlace shared;
  ASSERT_EQ(alone.Train({"--epochs", "0"}).status.code, 0);
  ASSERT_EQ(shared.Train({"--epochs", "0"}, 3).status.code, 0);
  EXPECT_EQ(alone.LastValues()["test_accuracy"], shared.LastValues()["test_accuracy"]);
  EXPECT_NEAR(alone.LastValues()["test_loss"], shared.LastValues()["test_loss"], 1e-6);
}

TEST(Fashion, TheSameSeedGivesTheSameNumbersAndAnotherSeedOthers) {
  const FashionPlace place;
  const Words short_run = {"--epochs", "1", "--train_images", "256", "--batch_size", "32"};
  auto other = short_run;
  other.insert(other.end(), {"--seed", "2"});
  ASSERT_EQ(place.Train(short_run).status.code, 0);
  ASSERT_EQ(place.Train(short_run).status.code, 0);
  ASSERT_EQ(place.Train(other).status.code, 0);
  const auto losses = place.Values("validation_loss");
  ASSERT_EQ(losses.size(), 3u);
  EXPECT_EQ(losses[0], losses[1]);
  EXPECT_NE(losses[0], losses[2]);
}

TEST(Fashion, TrainsWithoutTestDataAndWithoutValidation) {
  FashionPlace place;
  place.Unset("SLIPWAY_DATA_TEST");
  place.Configure(R"({"validation": {"from": "train", "fraction": 0, "seed": 1}})");
  const auto result = place.Train({"--epochs", "1", "--train_images", "256"});
  ASSERT_EQ(result.status.code, 0) << result.errors;
  const auto last = place.LastValues();
  EXPECT_TRUE(last.contains("train_accuracy"));
  EXPECT_FALSE(last.contains("validation_accuracy"));
  EXPECT_FALSE(last.contains("test_accuracy"));
  EXPECT_THAT(result.output, Not(HasSubstr("nan")));
}

TEST(Fashion, ParametersOfATrialReplaceTheArgumentsOfTheSameName) {
  FashionPlace place;
  const Words arguments = {"--epochs", "1", "--train_images", "256", "--batch_size", "32", "--lr", "0.001"};
  ASSERT_EQ(place.Train(arguments).status.code, 0);
  place.Set("SLIPWAY_PARAMS", R"({"lr": 1e-05, "optimizer": "sgd", "used_by_another_program": 1})");
  const auto result = place.Train(arguments);
  ASSERT_EQ(result.status.code, 0) << result.errors;
  const auto losses = place.Values("validation_loss");
  ASSERT_EQ(losses.size(), 2u);
  EXPECT_GT(losses[1], losses[0]);
  EXPECT_NEAR(losses[1], std::log(10.0), 0.1) << "with such a small step it has learnt nothing";
}

}  // namespace
}  // namespace slipway::test
