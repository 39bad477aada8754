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

TEST(GroupOutcome, NamesTheInterpreterThatIsMissing) {
  auto rank = Rank(0, {}, true);
  rank.status.reset();
  rank.start_error = ENOENT;
  rank.interpreter = "/no/python";
  EXPECT_EQ(ConcludeFrom({rank}, 1).detail,
            "rank 0 on node1 could not start 'train': its interpreter '/no/python' is missing");
}

/// Rank 1 returns without MPI_Finalize, and mpirun ends the others.
GroupEnd EndOfJobThatOneLeft() {
  GroupEnd end;
  end.ranks = {Rank(0, {0, 15}, true), Rank(1, {}), Rank(2, {0, 15})};
  end.ranks[0].asked = 15;
  end.ranks[2].asked = 15;
  end.expected_ranks = 3;
  end.launcher = {1, 0};
  return end;
}

TEST(GroupOutcome, BlamesTheRankThatLeftEarlyForThoseThatTheLauncherEnded) {
  const auto outcome = Conclude(EndOfJobThatOneLeft());
  EXPECT_EQ(outcome.culprit, 1);
  EXPECT_EQ(outcome.status, (ExitStatus{1, 0}));
  EXPECT_THAT(outcome.detail, HasSubstr("rank 1 on node1 ended with status 0 while other ranks ran"));
  auto end = EndOfJobThatOneLeft();
  end.launcher = {};
  EXPECT_EQ(Conclude(end).status, (ExitStatus{0, 15})) << "the job failed, whatever mpirun says";
}

TEST(GroupOutcome, BlamesTheRankThatLeftEarlyForShimsThatTheLauncherKilled) {
  auto end = EndOfJobThatOneLeft();
  for (const std::size_t rank : {0u, 2u}) {
    end.ranks[rank].asked.reset();
    end.ranks[rank].status.reset();
  }
  EXPECT_EQ(Conclude(end).culprit, 1);
  end.ranks[0].node_trouble = "node n1 is lost";
  EXPECT_EQ(Conclude(end).culprit, 0);
  end.ranks[0].node_trouble.clear();
  end.launcher = {};
  EXPECT_EQ(Conclude(end).culprit, 0) << "a launcher that ends ranks does not succeed";
}

TEST(GroupOutcome, BlamesNoRankThatOnlyEndedBefore) {
  auto by_another = EndOfJobThatOneLeft();
  by_another.ranks[0].asked.reset();  // a signal to the program itself
  EXPECT_EQ(Conclude(by_another).culprit, 0);
  auto by_us = EndOfJobThatOneLeft();
  by_us.ranks[0].asked = 0;
  EXPECT_EQ(Conclude(by_us).culprit, 0);
  auto stopped = EndOfJobThatOneLeft();
  stopped.stopped = true;
  EXPECT_EQ(Conclude(stopped).culprit, 0);
  auto all_ended = EndOfJobThatOneLeft();
  all_ended.ranks[1].asked = 15;  // it saved and returned 0 when it was asked
  EXPECT_EQ(Conclude(all_ended).culprit, 0);
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
