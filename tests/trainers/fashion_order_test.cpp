// What the fashion trainer reads in which order, as data.train.seed and data.train.remainder of the spec say.

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "core/checkpoint.h"
#include "core/files.h"
#include "tests/trainers/fashion_place.h"

namespace slipway::test {
namespace {

using ::testing::HasSubstr;

/// 157 images: 20 passes of 8 over all ranks, of which the last is not full.
const Words kFewImages = {"--epochs", "2", "--train_images", "157", "--global_batch_size"};
constexpr auto kRepeat = R"({"gradients": {"accumulate": 3}, "data": {"train": {"remainder": "repeat"}}})";

Words OfBatch(const char* global_batch) {
  auto words = kFewImages;
  words.emplace_back(global_batch);
  return words;
}

void TrainWith(FashionPlace& place, const char* config, const Words& arguments, int ranks = 1) {
  place.Configure(config);
  const auto result = place.Train(arguments, ranks);
  ASSERT_EQ(result.status.code, 0) << result.errors;
}

std::string WeightsWith(const char* config) {
  FashionPlace place;
  TrainWith(place, config, OfBatch("16"));
  return place.Weights();
}

Json ProgressOf(const std::filesystem::path& checkpoint) { return Json::parse(ReadFile(checkpoint / "progress.json")); }

TEST(FashionOrder, IsAnotherOneForAnotherSeedOfTheData) {
  const auto usual = WeightsWith("{}");
  EXPECT_TRUE(WeightsWith(R"({"data": {"train": {"seed": 0, "remainder": "drop"}}})") == usual);
  const auto other = WeightsWith(R"({"data": {"train": {"seed": 5}}})");
  EXPECT_FALSE(other == usual);
  EXPECT_TRUE(WeightsWith(R"({"data": {"train": {"seed": 5}}})") == other);
}

TEST(FashionOrder, RepeatsRecordsInOneMoreStepOfAnEpoch) {
  for (const int ranks : {1, 2}) {
    FashionPlace place;
    TrainWith(place, R"({"gradients": {"accumulate": 3}})", OfBatch("24"), ranks);
    EXPECT_EQ(place.NewestCheckpoint().filename(), "step-000000000012");
    FashionPlace repeating;
    TrainWith(repeating, kRepeat, OfBatch("24"), ranks);
    EXPECT_EQ(repeating.NewestCheckpoint().filename(), "step-000000000014");
    EXPECT_EQ(repeating.LastValues()["replicas_match"], 1);
  }
}

class FashionThatRepeats : public ::testing::TestWithParam<const char*> {};

TEST_P(FashionThatRepeats, GoesOnWithTheBitsOfARunThatNeverStopped) {
  const Words arguments = {"--epochs", "2", "--global_batch_size", "24", "--train_images", GetParam()};
  FashionPlace uninterrupted;
  TrainWith(uninterrupted, kRepeat, arguments, 2);
  FashionPlace place;
  place.AskToStop();
  TrainWith(place, kRepeat, arguments, 2);
  const auto stopped = ProgressOf(place.NewestCheckpoint()).at("progress");
  EXPECT_EQ(stopped.at("step_in_epoch"), 1);
  EXPECT_EQ(stopped.at("train").at("records"), 24.0);
  place.Continue();
  TrainWith(place, kRepeat, arguments, 2);
  EXPECT_TRUE(place.Weights() == uninterrupted.Weights()) << "the bytes of model.pt differ";
}
/// 20 images are less than a step, and 5 than a pass: they come again and again.
INSTANTIATE_TEST_SUITE_P(Images, FashionThatRepeats, ::testing::Values("157", "20", "5"));

TEST(FashionOrder, CannotBePaddedWhichIsSaidBeforeItTrains) {
  FashionPlace place;
  place.Configure(R"({"data": {"train": {"remainder": "pad"}}})");
  const auto result = place.Train(OfBatch("16"), 2);
  EXPECT_EQ(result.status.Describe(), "exit status 2") << result.errors;
  EXPECT_THAT(result.errors, HasSubstr("data.train.remainder is pad"));
  EXPECT_THAT(result.errors, HasSubstr("write repeat"));
}

/// A checkpoint after one step with the usual order.
class FashionOrderOfACheckpoint : public ::testing::Test {
 protected:
  FashionOrderOfACheckpoint() {
    place_.AskToStop();
    TrainWith(place_, "{}", OfBatch("16"));
    place_.Continue();
  }

  void ExpectRefusal(const char* config, const std::string& message) {
    place_.Configure(config);
    const auto result = place_.Train(OfBatch("16"));
    EXPECT_EQ(result.status.Describe(), "exit status 1");
    EXPECT_THAT(result.errors, HasSubstr(message));
  }

  /// As it was written before checkpoints said how the spec orders records.
  void MakeOld() {
    auto document = ProgressOf(place_.NewestCheckpoint());
    for (const char* name : {"data.train.seed", "data.train.remainder"}) {
      ASSERT_EQ(document.at("course").erase(name), 1u) << name;
    }
    const auto prepared = BeginCheckpoint(place_.checkpoints(), 9);
    for (const auto& file : std::filesystem::directory_iterator(place_.NewestCheckpoint())) {
      if (file.path().filename() != "manifest.json") std::filesystem::copy(file, prepared / file.path().filename());
    }
    WriteFile(prepared / "progress.json", document.dump());
    CheckpointInfo info;
    info.step = 9;
    place_.Set("SLIPWAY_RESUME_FROM", CommitCheckpoint(prepared, info).native());
  }

  FashionPlace place_;
};

TEST_F(FashionOrderOfACheckpoint, IsRefusedWhereItIsAnotherOneNow) {
  ExpectRefusal(R"({"data": {"train": {"seed": 5}}})", "was made with data.train.seed 0, now it is 5");
  ExpectRefusal(R"({"data": {"train": {"remainder": "repeat"}}})",
                "was made with data.train.remainder drop, now it is repeat");
}

TEST_F(FashionOrderOfACheckpoint, IsTheUsualOneWhereAnOlderOneDoesNotSay) {
  MakeOld();
  ExpectRefusal(R"({"data": {"train": {"seed": 5}}})", "was made with data.train.seed 0, now it is 5");
  TrainWith(place_, "{}", OfBatch("16"));
}

}  // namespace
}  // namespace slipway::test
