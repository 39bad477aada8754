#include "trainers/common/average_decay.h"

#include <gtest/gtest.h>

namespace trainers {
namespace {

TEST(AverageDecay, ForgetsTheFirstWeightsWithinAFewSteps) {
  EXPECT_DOUBLE_EQ(AverageDecay(0.999, 0), 0.1);
  EXPECT_DOUBLE_EQ(AverageDecay(0.999, 1), 2.0 / 11);
  EXPECT_DOUBLE_EQ(AverageDecay(0.999, 90), 0.91);
}

TEST(AverageDecay, RisesToWhatWasAskedForAndStaysThere) {
  EXPECT_LT(AverageDecay(0.999, 8'989), 0.999);
  EXPECT_EQ(AverageDecay(0.999, 8'991), 0.999);
  EXPECT_EQ(AverageDecay(0.999, 1'000'000'000), 0.999);
  EXPECT_EQ(AverageDecay(0.05, 0), 0.05);
}

}  // namespace
}  // namespace trainers
