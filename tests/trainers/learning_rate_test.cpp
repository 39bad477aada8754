#include "trainers/common/learning_rate.h"

#include <gtest/gtest.h>

#include <cmath>

namespace trainers {
namespace {

constexpr std::int64_t kSteps = 10;  // of an epoch
constexpr std::int64_t kEpochs = 4;

TEST(LearningRate, StaysAsItIsUnlessSomethingIsSaid) {
  const LearningRate rate;
  EXPECT_EQ(rate.At(0, kSteps, kEpochs, 64), 1e-3);
  EXPECT_EQ(rate.At(39, kSteps, kEpochs, 8192), 1e-3);
}

TEST(LearningRate, GrowsWithTheGlobalBatchOrItsRoot) {
  EXPECT_DOUBLE_EQ((LearningRate{0.1, "linear", 256, 0, "constant"}.At(5, kSteps, kEpochs, 1024)), 0.4);
  EXPECT_DOUBLE_EQ((LearningRate{0.1, "sqrt", 256, 0, "constant"}.At(5, kSteps, kEpochs, 1024)), 0.2);
  EXPECT_DOUBLE_EQ((LearningRate{0.1, "linear", 256, 0, "constant"}.At(5, kSteps, kEpochs, 64)), 0.025);
}

TEST(LearningRate, RisesEvenlyInTheWarmUp) {
  const LearningRate rate{0.1, "linear", 256, 2, "constant"};
  for (std::int64_t step = 0; step < 20; ++step) {
    EXPECT_DOUBLE_EQ(rate.At(step, kSteps, kEpochs, 512), 0.2 * static_cast<double>(step + 1) / 20) << step;
  }
  EXPECT_DOUBLE_EQ(rate.At(20, kSteps, kEpochs, 512), 0.2);
}

TEST(LearningRate, WarmsUpOverTheSameRecordsOnAnyNumberOfRanks) {
  const LearningRate rate{0.1, "none", 256, 2, "constant"};
  constexpr std::int64_t kRecords = 960;  // of an epoch
  for (const std::int64_t ranks : {1, 2, 4}) {
    const auto global = 24 * ranks;
    const auto steps = kRecords / global;
    const auto step_after_epoch = steps - 1;
    EXPECT_DOUBLE_EQ(rate.At(step_after_epoch, steps, kEpochs, global), 0.05) << ranks;
    EXPECT_DOUBLE_EQ(rate.At(2 * steps, steps, kEpochs, global), 0.1) << ranks;
  }
}

TEST(LearningRate, FallsAfterTheWarmUpToNothing) {
  const LearningRate cosine{1, "none", 64, 1, "cosine"};
  EXPECT_DOUBLE_EQ(cosine.At(10, kSteps, kEpochs, 64), 1);
  EXPECT_DOUBLE_EQ(cosine.At(25, kSteps, kEpochs, 64), 0.5);
  EXPECT_NEAR(cosine.At(40, kSteps, kEpochs, 64), 0, 1e-15);
  const LearningRate linear{1, "none", 64, 0, "linear"};
  EXPECT_DOUBLE_EQ(linear.At(10, kSteps, kEpochs, 64), 0.75);
  EXPECT_NEAR(linear.At(39, kSteps, kEpochs, 64), 0.025, 1e-15);
}

TEST(LearningRate, IsDefinedWhereTheWarmUpIsLongerThanTheTraining) {
  const LearningRate rate{1, "none", 64, 100, "cosine"};
  EXPECT_GT(rate.At(39, kSteps, kEpochs, 64), 0);
  EXPECT_TRUE(std::isfinite(rate.At(2000, kSteps, kEpochs, 64)));
}

}  // namespace
}  // namespace trainers
