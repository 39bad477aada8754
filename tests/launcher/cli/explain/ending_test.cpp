// Why a run ended, in words.

#include "launcher/cli/explain/ending.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

namespace slipway::launcher {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

RunFacts Ended(Phase phase, const std::string& reason) {
  RunFacts facts;
  facts.state.run = "small-1";
  facts.state.phase = phase;
  facts.state.reason = reason;
  facts.state.attempt = 1;
  facts.state.ended = "2026-11-22T06:00:00Z";
  return facts;
}

RunFacts FailedOfFour() {
  auto facts = Ended(Phase::kFailed, "rank 1 on n2 ended with exit status 3");
  facts.ranks = 4;
  facts.ends = {{1, {3, 0}}, {3, {0, SIGSEGV}}};
  facts.culprit = 1;
  facts.log = {"/runs/small-1/attempt-1/rank-00001.log", "ValueError: no such field"};
  return facts;
}

TEST(ExplainEnd, NamesTheRankThatFailedAndShowsItsLastWords) {
  const auto facts = FailedOfFour();
  const auto explanation = Explain(facts);
  EXPECT_EQ(explanation.headline, "failed at 2026-11-22T06:00:00Z");
  EXPECT_THAT(explanation.because,
              ElementsAre("rank 1 on n2 ended with exit status 3", "rank 3 ended by itself with signal 11 (SIGSEGV)",
                          "2 other ranks were ended by Slipway, or with their node"));
  EXPECT_THAT(explanation.next,
              ElementsAre("read all of it: slipway logs small-1 --rank 1", "begin again: slipway resume small-1"));
  EXPECT_THAT(Describe(explanation, facts),
              HasSubstr("last lines of /runs/small-1/attempt-1/rank-00001.log:\nValueError: no such field\n"));
}

TEST(ExplainEnd, PutsRanksThatEndedAlikeOnOneLine) {
  auto facts = FailedOfFour();
  facts.ends = {{0, {1, 0}}, {1, {1, 0}}, {2, {1, 0}}, {3, {0, 0}}};
  EXPECT_THAT(Explain(facts).because, Contains("ranks 0 to 2 ended by themselves with exit status 1"));
  facts.ends = {{0, {1, 0}}, {2, {1, 0}}};
  EXPECT_THAT(Explain(facts).because, Contains("ranks 0, 2 ended by themselves with exit status 1"));
}

TEST(ExplainEnd, NamesTheRankWhereTheReasonDoesNot) {
  auto facts = FailedOfFour();
  facts.state.phase = Phase::kLost;
  facts.state.reason = "its manager is gone";
  EXPECT_THAT(Explain(facts).because, Contains("rank 1 ended by itself with exit status 3"));
}

TEST(ExplainEnd, AdvisesByTheStatusOfTheRankAtFault) {
  auto facts = FailedOfFour();
  for (const auto& [status, words] : {std::pair(ExitStatus{127, 0}, "train.command"),
                                      {ExitStatus{0, SIGKILL}, "memory"},
                                      {ExitStatus{0, SIGBUS}, "/dev/shm"},
                                      {ExitStatus{0, SIGILL}, "processor"}}) {
    facts.ends = {{1, status}};
    EXPECT_THAT(Explain(facts).next.front(), HasSubstr(words));
  }
  EXPECT_EQ(AdviceFor({3, 0}), "");
  EXPECT_EQ(AdviceFor({}), "");
}

TEST(ExplainEnd, GoesOnFromTheNewestCheckpoint) {
  auto facts = FailedOfFour();
  facts.checkpoint = 4000;
  EXPECT_THAT(Explain(facts).next, Contains("go on from the checkpoint of step 4000: slipway resume small-1"));
}

TEST(ExplainEnd, SaysWhatCanBeDoneAboutATimeLimit) {
  auto facts = Ended(Phase::kFailed, "time limit of 20m00s reached");
  EXPECT_THAT(Explain(facts).next, Contains(HasSubstr("checkpoint.on_time_limit: requeue")));
  facts.goes_on_at_limit = true;
  EXPECT_THAT(Explain(facts).next, Contains(HasSubstr("checkpoint.every")));
}

TEST(ExplainEnd, SaysWhatSlurmSaysOfTheJob) {
  auto facts = Ended(Phase::kFailed, "job 12 was ended because one of its nodes failed");
  facts.job.emplace();
  facts.job->id = 12;
  facts.job->state = JobState::kNodeFail;
  facts.job->reason_text = "n2 lost";
  facts.job->restarts = 3;
  const auto explanation = Explain(facts);
  EXPECT_THAT(explanation.because, Contains("its job 12 was ended because one of its nodes failed"));
  EXPECT_THAT(explanation.because, Contains("in Slurm's words: n2 lost"));
  EXPECT_THAT(explanation.because, Contains("Slurm had queued it again 3 times"));
  EXPECT_THAT(explanation.next, Contains("a node was at fault, not the run"));
  facts.job->state = JobState::kOutOfMemory;
  EXPECT_THAT(Explain(facts).next, Contains(HasSubstr("memory_per_rank")));
}

TEST(ExplainEnd, RepeatsTheWatchUnlessItIsTheReason) {
  auto facts = FailedOfFour();
  facts.watch = "rank 2 on host n17 is stopped (SIGSTOP)";
  EXPECT_THAT(Explain(facts).because, Contains(facts.watch));
  facts.state.reason = facts.watch;
  facts.ends.clear();
  EXPECT_THAT(Explain(facts).because, ElementsAre(facts.watch));
}

TEST(ExplainEnd, ShowsWhatTheManagerSaidWhereNoRankSpoke) {
  auto facts = Ended(Phase::kFailed, "cannot read '/data/a'");
  facts.state.detail = "cannot read '/data/a'\nwhile staging dataset 'train'\n";
  EXPECT_THAT(Explain(facts).because, ElementsAre("cannot read '/data/a'", "  while staging dataset 'train'"));
}

TEST(ExplainEnd, OfASuccessHasNothingToAdd) {
  const auto explanation = Explain(Ended(Phase::kSucceeded, ""));
  EXPECT_THAT(explanation.because, IsEmpty());
  EXPECT_THAT(explanation.next, IsEmpty());
  EXPECT_THAT(Explain(Ended(Phase::kSucceeded, "its time is used up")).next, Contains(HasSubstr("slipway resume")));
}

TEST(ExplainEnd, OfAnEnsembleSaysWhatLetsItGoOn) {
  auto facts = Ended(Phase::kFailed, "3 trials failed, more than max_failures");
  facts.trials = {{"failed", 3}};
  facts.failures = {{"failed: exit status 3", {4, 5, 6}, ""}};
  EXPECT_THAT(Explain(facts).next, Contains(HasSubstr("slipway resume small-1 --set ensemble.max_failures=N")));
  facts.state.reason = "none of 3 trials succeeded";
  EXPECT_THAT(Explain(facts).next,
              Contains(HasSubstr("slipway trials retry --failed small-1 && slipway resume small-1")));
  facts.state.reason = "its time is used up; with more of it: slipway resume --set ensemble.budget.time=...";
  EXPECT_THAT(Explain(facts).next, Not(Contains(HasSubstr("slipway resume"))));
}

TEST(ExplainEnd, OfACancelledRunHasNoLogToRead) {
  const auto explanation = Explain(Ended(Phase::kCancelled, "cancelled by the user"));
  EXPECT_THAT(explanation.next, ElementsAre("begin again: slipway resume small-1"));
}

TEST(ExplainEnd, CountsRestarts) {
  auto facts = FailedOfFour();
  facts.restarts = 1;
  facts.state.attempt = 2;
  EXPECT_THAT(Explain(facts).because, Contains("its ranks were started again 1 time"));
  EXPECT_THAT(Explain(facts).headline, HasSubstr("in attempt 2"));
  EXPECT_THAT(Explain(Ended(Phase::kFailed, "x")).because, Not(Contains(HasSubstr("again"))));
}

}  // namespace
}  // namespace slipway::launcher
