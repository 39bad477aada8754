#include "trainers/common/loss_scale.h"

#include <gtest/gtest.h>

namespace trainers {
namespace {

TEST(LossScale, IsUsedWithFp16OrWhereItIsAskedFor) {
  Arguments arguments;
  EXPECT_FALSE(ScalesLosses(arguments));
  arguments.loss_scale = 8;
  EXPECT_TRUE(ScalesLosses(arguments));
  EXPECT_EQ(FirstLossScale(arguments).factor, 8);
  arguments.loss_scale = 0;
  arguments.precision = "bf16";
  EXPECT_FALSE(ScalesLosses(arguments));
  arguments.precision = "fp16";
  EXPECT_TRUE(ScalesLosses(arguments));
  EXPECT_EQ(FirstLossScale(arguments).factor, 65536);
}

TEST(LossScale, IsHalvedByAnOverflowAndDoubledByTwoThousandStepsWithout) {
  LossScale scale{16, 0};
  for (int step = 0; step < 1999; ++step) scale.Update(false);
  EXPECT_EQ(scale.factor, 16);
  scale.Update(true);
  EXPECT_EQ(scale.factor, 8);
  EXPECT_EQ(scale.steps, 0) << "an overflow begins the count again";
  for (int step = 0; step < 2000; ++step) scale.Update(false);
  EXPECT_EQ(scale.factor, 16);
  EXPECT_EQ(scale.steps, 0);
}

}  // namespace
}  // namespace trainers
