// What the fashion trainer refuses, with which words and which exit status.

#include <gmock/gmock.h>

#include "core/files.h"
#include "tests/trainers/fashion_place.h"

namespace slipway::test {
namespace {

using ::testing::HasSubstr;

const Words kShortRun = {"--epochs", "1", "--batch_size", "16", "--train_images", "160"};

void ExpectFailure(const Captured& result, int code, const std::string& message) {
  EXPECT_EQ(result.status.Describe(), "exit status " + std::to_string(code)) << result.errors;
  EXPECT_THAT(result.errors, HasSubstr(message));
}

TEST(FashionRefuses, ArgumentsThatItDoesNotKnowOrCannotRead) {
  const FashionPlace place;
  ExpectFailure(place.Train({"--learning_rate", "1"}), 2, "unknown argument '--learning_rate'");
  ExpectFailure(place.Train({"--epochs"}), 2, "--epochs needs a value");
  ExpectFailure(place.Train({"--epochs", "three"}), 2, "--epochs three: must be a whole number");
  ExpectFailure(place.Train({"--batch_size", "0"}), 2, "--batch_size 0: must be a whole number from 1");
  ExpectFailure(place.Train({"--optimizer", "lbfgs"}), 2, "must be adam or sgd");
  ExpectFailure(place.Train({"--batch_size", "64", "--global_batch_size", "64"}), 2, "give one of them");
}

TEST(FashionRefuses, ABatchThatDoesNotFit) {
  const FashionPlace place;
  ExpectFailure(place.Train({"--batch_size", "4000"}), 2, "fewer than one batch of 4000");
  ExpectFailure(place.Train({"--global_batch_size", "15"}, 2), 2, "does not divide among 2 ranks");
}

TEST(FashionRefuses, AStartWithoutWhatTheLauncherSets) {
  FashionPlace place;
  place.Unset("SLIPWAY_DATA_TRAIN");
  ExpectFailure(place.Train(kShortRun), 2, "SLIPWAY_DATA_TRAIN is not set");
}

TEST(FashionRefuses, SettingsThatAreNotWhatTheLauncherWrites) {
  FashionPlace place;
  place.Configure("{");
  ExpectFailure(place.Train(kShortRun), 2, "SLIPWAY_CONFIG is not a JSON object");
  place.Configure(R"({"validation": {"fraction": "much"}})");
  ExpectFailure(place.Train(kShortRun), 2, "SLIPWAY_CONFIG: validation.fraction");
  place.Configure(R"({"validation": {"fraction": 1.5}})");
  ExpectFailure(place.Train(kShortRun), 2, "SLIPWAY_CONFIG: validation.fraction");
  place.Configure(R"({"validation": {"from": "elsewhere"}})");
  ExpectFailure(place.Train(kShortRun), 2, "SLIPWAY_CONFIG: validation.from");
  place.Configure("{}");
  place.Set("SLIPWAY_PARAMS", R"({"lr": "fast"})");
  ExpectFailure(place.Train(kShortRun), 2, "SLIPWAY_PARAMS: --lr fast");
}

TEST(FashionRefuses, HelpIsNotARefusal) {
  FashionPlace place;
  place.Unset("SLIPWAY_DATA_TRAIN");
  const auto result = place.Train({"--help"});
  EXPECT_EQ(result.status.code, 0);
  for (const char* name : {"--epochs", "--batch_size", "--lr", "--optimizer", "--seed"}) {
    EXPECT_THAT(result.output, HasSubstr(name));
  }
}

TEST(FashionRefuses, DataThatIsNotThere) {
  FashionPlace place;
  place.Set("SLIPWAY_DATA_TRAIN", (place / "nowhere").native());
  ExpectFailure(place.Train(kShortRun), 1, "nowhere");
}

TEST(FashionRefuses, TestDataThatIsNotThereBeforeItTrains) {
  FashionPlace place;
  place.Set("SLIPWAY_DATA_TEST", (place / "nowhere").native());
  ExpectFailure(place.Train(kShortRun), 1, "nowhere");
  EXPECT_TRUE(place.Values("train_loss").empty());
}

TEST(FashionRefuses, ADamagedRecordNamingIt) {
  const FashionPlace place;
  auto images = FashionPlace::RealImages(200);
  place.WriteTrainData(images);
  const auto file = place.train_data() / "train.tfrecord";
  auto bytes = ReadFile(file);
  const auto record_size = bytes.size() / images.size();
  bytes[123 * record_size + record_size / 2] ^= 1;
  WriteFile(file, bytes);
  const auto result = place.Train(kShortRun);
  ExpectFailure(result, 1, "train.tfrecord");
  EXPECT_THAT(result.errors, HasSubstr("record 123"));
}

TEST(FashionRefuses, RecordsThatAreNoFashionImages) {
  const FashionPlace place;
  const auto good = FashionPlace::RealImages(200);
  auto images = good;
  images[7].label = 10;
  place.WriteTrainData(images);
  ExpectFailure(place.Train(kShortRun), 1, "record 7");
  images = good;
  images[8].pixels.resize(100);
  place.WriteTrainData(images);
  const auto small = place.Train(kShortRun);
  ExpectFailure(small, 1, "record 8");
  EXPECT_THAT(small.errors, HasSubstr("784"));
  images = good;
  images[9].image_name = "picture";
  place.WriteTrainData(images);
  const auto unnamed = place.Train(kShortRun);
  ExpectFailure(unnamed, 1, "record 9");
  EXPECT_THAT(unnamed.errors, HasSubstr("field 'image'"));
}

TEST(FashionRefuses, ToGoOnWhenTheLossIsNotFinite) {
  const FashionPlace place;
  // Each step multiplies the weights by about a million.
  const Words wild = {"--epochs",    "3",   "--batch_size", "16",   "--train_images", "160",
                      "--optimizer", "sgd", "--lr",         "1000", "--weight_decay", "1000"};
  const auto result = place.Train(wild);
  ExpectFailure(result, 1, "at step ");
  EXPECT_THAT(result.errors, HasSubstr("the loss is "));
}

TEST(FashionRefuses, AndTheOtherRanksEndWithTheOneThatFails) {
  const FashionPlace place;
  const auto good = place / "good";
  std::filesystem::rename(place.train_data(), good);
  // Rank 1 finds no data; rank 0 goes on to its first collective and would wait there for ever.
  const auto trainer = FashionPlace::Command(kShortRun, 1);
  Words command = {"mpirun",
                   "--allow-run-as-root",
                   "--oversubscribe",
                   "--bind-to",
                   "none",
                   "-n",
                   "1",
                   "env",
                   "SLIPWAY_DATA_TRAIN=" + good.native()};
  command.insert(command.end(), trainer.begin(), trainer.end());
  command.insert(command.end(), {":", "-n", "1"});
  command.insert(command.end(), trainer.begin(), trainer.end());
  const auto result = place.Run(command);
  EXPECT_EQ(result.status.Describe(), "exit status 1");
  EXPECT_THAT(result.errors, HasSubstr(place.train_data().native()));
}

}  // namespace
}  // namespace slipway::test
