#include "launcher/ranks/local/group_outcome.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

namespace slipway::launcher {
namespace {

using testing::HasSubstr;

RankOutcome Rank(int rank, ExitStatus status, bool first = false) {
  RankOutcome outcome;
  outcome.rank = rank;
  outcome.host = "node1";
  outcome.status = status;
  outcome.ended_first = first;
  return outcome;
}

GroupOutcome ConcludeFrom(std::vector<RankOutcome> ranks, int expected = 2) {
  GroupEnd end;
  end.ranks = std::move(ranks);
  end.expected_ranks = expected;
  end.program = "train";
  return Conclude(std::move(end));
}

TEST(GroupOutcome, IsASuccessWhenAllRanksSucceed) {
  const auto outcome = ConcludeFrom({Rank(0, {}), Rank(1, {})});
  EXPECT_TRUE(outcome.status.Success());
  EXPECT_EQ(outcome.detail, "");
}

TEST(GroupOutcome, BlamesTheRankThatFailedFirst) {
  const auto outcome = ConcludeFrom({Rank(0, {0, 15}), Rank(1, {3, 0}, true)});
  EXPECT_EQ(outcome.culprit, 1);
  EXPECT_EQ(outcome.status, (ExitStatus{3, 0}));
  EXPECT_EQ(outcome.detail, "rank 1 on node1 ended with exit status 3");
}

TEST(GroupOutcome, AsksForARequeueOnlyWhenThatCameFirst) {
  EXPECT_TRUE(ConcludeFrom({Rank(0, {75, 0}, true), Rank(1, {0, 9})}).requeue);
  EXPECT_FALSE(ConcludeFrom({Rank(0, {75, 0}), Rank(1, {1, 0}, true)}).requeue);
}

TEST(GroupOutcome, NamesAProgramThatCannotBeExecuted) {
  auto rank = Rank(0, {}, true);
  rank.status.reset();
  rank.start_error = ENOENT;
  const auto outcome = ConcludeFrom({rank}, 1);
  EXPECT_EQ(outcome.status, (ExitStatus{127, 0}));
  EXPECT_THAT(outcome.detail, HasSubstr("could not start 'train': No such file"));
}

TEST(GroupOutcome, SaysThatRanksAreMissing) {
  GroupEnd end;
  end.expected_ranks = 2;
  end.launcher = {1, 0};
  const auto outcome = Conclude(end);
  EXPECT_EQ(outcome.status, (ExitStatus{1, 0}));
  EXPECT_THAT(outcome.detail, HasSubstr("only 0 of 2 ranks started"));
}

TEST(GroupOutcome, SaysThatAShimWasKilled) {
  auto rank = Rank(1, {});
  rank.status.reset();
  EXPECT_THAT(ConcludeFrom({Rank(0, {}), rank}).detail, HasSubstr("its shim, which was killed"));
}

}  // namespace
}  // namespace slipway::launcher
