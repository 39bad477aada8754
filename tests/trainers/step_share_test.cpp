#include "trainers/common/step_share.h"

#include <gmock/gmock.h>

#include "trainers/common/usage_error.h"

namespace trainers {
namespace {

using ::testing::HasSubstr;

/// 0: not given.
Arguments Batches(std::int64_t batch, std::int64_t global) {
  Arguments arguments;
  arguments.batch_size = batch;
  arguments.global_batch_size = global;
  return arguments;
}

std::string RefusalOf(const Arguments& arguments, std::int64_t passes, std::int64_t ranks) {
  try {
    ShareStep(arguments, passes, ranks);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "none";
}

TEST(StepShare, TakesTheUsualBatchWhereNoneIsGiven) {
  Arguments arguments;
  arguments.usual_batch_size = 8;
  const auto share = ShareStep(arguments, 1, 3);
  EXPECT_EQ(share.batch, 8);
  EXPECT_EQ(share.Global(), 24);
}

TEST(StepShare, CountsThePassesThatAreAddedUp) {
  const auto share = ShareStep(Batches(4, 0), 5, 2);
  EXPECT_EQ(share.Global(), 40);
}

TEST(StepShare, DividesTheGlobalBatchAmongRanksAndPasses) {
  EXPECT_EQ(ShareStep(Batches(0, 48), 3, 4).batch, 4);
  EXPECT_THAT(RefusalOf(Batches(0, 50), 1, 4), HasSubstr("50 does not divide among 4 ranks: take a multiple of 4"));
  EXPECT_THAT(RefusalOf(Batches(0, 50), 3, 4), HasSubstr("with 3 backward passes each: take a multiple of 12"));
  EXPECT_THAT(RefusalOf(Batches(4, 8), 1, 2), HasSubstr("give one of them"));
}

}  // namespace
}  // namespace trainers
