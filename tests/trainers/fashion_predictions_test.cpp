// The predictions that the fashion trainer leaves behind, read as `slipway trials select` reads them.

#include <gmock/gmock.h>

#include "ensemble/analysis/scoring.h"
#include "tests/trainers/fashion_place.h"

namespace slipway::test {
namespace {

using ensemble::Predictions;
using ensemble::Scoring;
using ensemble::SelectionMetric;

double Score(const Predictions& predictions, const ensemble::Targets& targets, SelectionMetric metric) {
  auto prepared = predictions;
  const Scoring scoring(targets, metric);
  scoring.Prepare(prepared);
  return scoring.Score(std::vector<double>(prepared.values.size(), 0.0), prepared.values, 1);
}

TEST(FashionPredictions, AreThoseOfTheReportedValuesWhateverTheNumberOfRanks) {
  std::vector<std::string> orders;
  std::vector<std::uint32_t> targets_crc;
  for (const int ranks : {1, 2, 3}) {
    FashionPlace place;
    place.Set("SLIPWAY_RUN_DIR", (place / "").native());
    const auto result = place.Train({"--epochs", "1", "--train_images", "384", "--batch_size", "32"}, ranks);
    ASSERT_EQ(result.status.code, 0) << result.errors;
    const auto predictions = ensemble::ReadPredictions(place / "predictions.npy");
    const auto targets = ensemble::ReadTargets(place / "targets.npy");
    EXPECT_EQ(predictions.records, 200u);
    EXPECT_EQ(predictions.outputs, 10u);
    EXPECT_EQ(predictions.order, targets.order);
    auto reported = place.LastValues();
    EXPECT_NEAR(Score(predictions, targets, SelectionMetric::kAccuracy), reported["validation_accuracy"], 1e-9);
    EXPECT_NEAR(Score(predictions, targets, SelectionMetric::kLogLoss), reported["validation_loss"], 1e-4);
    orders.push_back(predictions.order);
    targets_crc.push_back(targets.crc);
  }
  EXPECT_THAT(orders, testing::Each(orders[0]));
  EXPECT_THAT(targets_crc, testing::Each(targets_crc[0]));
}

TEST(FashionPredictions, TellWhenTheRecordsAreOthers) {
  FashionPlace place;
  place.Set("SLIPWAY_RUN_DIR", (place / "").native());
  std::vector<std::string> orders;
  for (const std::string seed : {"1", "2"}) {
    place.Configure(R"({"validation": {"from": "train", "fraction": 0.1, "seed": )" + seed + "}}");
    ASSERT_EQ(place.Train({"--epochs", "1", "--train_images", "64"}).status.code, 0);
    orders.push_back(ensemble::ReadPredictions(place / "predictions.npy").order);
  }
  EXPECT_NE(orders[0], orders[1]);
}

TEST(FashionPredictions, AreNotWrittenUnlessWanted) {
  FashionPlace place;
  place.Set("SLIPWAY_RUN_DIR", (place / "").native());
  ASSERT_EQ(place.Train({"--epochs", "1", "--train_images", "64", "--predictions", "0"}).status.code, 0);
  EXPECT_FALSE(std::filesystem::exists(place / "predictions.npy"));
  place.Configure(R"({"validation": {"from": "train", "fraction": 0, "seed": 1}})");
  ASSERT_EQ(place.Train({"--epochs", "1", "--train_images", "64"}).status.code, 0);
  EXPECT_FALSE(std::filesystem::exists(place / "predictions.npy"));
}

}  // namespace
}  // namespace slipway::test
