#include "ensemble/manager/verdict.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <cmath>
#include <limits>

namespace slipway::ensemble {
namespace {

AttemptFacts Good() {
  AttemptFacts facts;
  facts.status = ExitStatus{};
  facts.objective.metric = "accuracy";
  facts.value = 0.5;
  return facts;
}

TEST(Verdict, IsCompleteWithStatusZeroAndAnObjective) {
  EXPECT_EQ(Judge(Good()), (Verdict{TrialState::kComplete, TrialState::kComplete, Outcome::kComplete, ""}));
}

TEST(Verdict, NamesTheMetricThatWasNotReported) {
  auto facts = Good();
  facts.value.reset();
  EXPECT_EQ(Judge(facts), (Verdict{TrialState::kFailed, TrialState::kFailed, Outcome::kNoObjective,
                                   "reported no 'accuracy'", "accuracy"}));
}

TEST(Verdict, NamesTheMetricsThatWereReportedInstead) {
  auto facts = Good();
  facts.value.reset();
  facts.reported = {"acc", "loss"};
  EXPECT_EQ(Judge(facts).reason, "reported no 'accuracy'; it reported: acc, loss");
  facts.reported = {"a", "b", "c", "d", "e", "f", "g", "h", "i"};
  EXPECT_EQ(Judge(facts).reason, "reported no 'accuracy'; it reported: a, b, c, d, e, f, g, h, ...");
}

TEST(Verdict, RefusesAnObjectiveThatIsNoNumber) {
  auto facts = Good();
  facts.value = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(Judge(facts).reason, "reported accuracy = NaN");
  facts.value = std::numeric_limits<double>::infinity();
  EXPECT_EQ(Judge(facts).trial, TrialState::kFailed);
}

TEST(Verdict, SaysWhichMetricHasNoValueAsAValue) {
  auto facts = Good();
  facts.further_missing = "size";
  EXPECT_EQ(Judge(facts).missing, "size");
  facts.value = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(Judge(facts).missing, "") << "it was reported";
  EXPECT_EQ(Judge(facts).outcome, Outcome::kNoObjective);
}

/// Beside the outcome's word, and where that word does not stand.
TEST(Verdict, NamesTheOutcomeOnce) {
  auto facts = Good();
  facts.status = ExitStatus{0, SIGKILL};
  facts.cause = OutsideCause::kOutOfMemory;
  EXPECT_EQ(Judge(facts).reason, "signal 9 (SIGKILL)");
  EXPECT_EQ(ReasonAlone(Judge(facts)), "out of memory: signal 9 (SIGKILL)");
  facts.cause = OutsideCause::kCancelled;
  facts.detail = "job 17 was cancelled";
  EXPECT_EQ(Judge(facts).reason, "job 17 was cancelled");
  EXPECT_EQ(ReasonAlone(Judge(facts)), "cancelled: job 17 was cancelled");
  facts.stop = StopReason::kCancelled;
  EXPECT_EQ(ReasonAlone(Judge(facts)), "the ensemble was stopped");
}

TEST(Verdict, KeepsSignalAndDetailOfAFailure) {
  auto facts = Good();
  facts.status = ExitStatus{0, 9};
  facts.detail = "rank 1: killed";
  EXPECT_EQ(Judge(facts).reason, "signal 9 (SIGKILL): rank 1: killed");
}

TEST(Verdict, TriesAStartThatFailedOnceMoreAndCountsNoFailure) {
  auto facts = Good();
  facts.status.reset();
  facts.cause = OutsideCause::kNotStarted;
  facts.detail = "no process fits";
  const auto once = Judge(facts);
  EXPECT_EQ(once, (Verdict{TrialState::kLost, TrialState::kQueued, Outcome::kNotStarted,
                           "could not be started and is tried once more: no process fits"}));
  facts.start_failed_before = true;
  facts.retries = 5;
  const auto twice = Judge(facts);
  EXPECT_EQ(twice, (Verdict{TrialState::kFailed, TrialState::kFailed, Outcome::kNotStarted,
                            "could not be started, as the attempt before: no process fits"}));
  facts.stop = StopReason::kCancelled;
  EXPECT_EQ(Judge(facts).trial, TrialState::kQueued) << "nobody wanted it to start any more";
}

TEST(Verdict, WhoMakesRoomForNobodyGoesOn) {
  auto facts = Good();
  facts.stop = StopReason::kPruned;
  EXPECT_EQ(Judge(facts).trial, TrialState::kPruned);
  facts.may_end = false;
  EXPECT_EQ(Judge(facts).attempt, TrialState::kPaused);
  EXPECT_EQ(Judge(facts).trial, TrialState::kQueued);
  facts.stop = StopReason::kTrialTimeLimit;
  EXPECT_EQ(Judge(facts).trial, TrialState::kFailed);
}

TEST(Verdict, QueuesAgainWhileRetriesAreLeft) {
  auto facts = Good();
  facts.status = ExitStatus{3, 0};
  facts.retries = 2;
  facts.failures = 1;
  EXPECT_EQ(Judge(facts).trial, TrialState::kQueued);
  facts.failures = 2;
  EXPECT_EQ(Judge(facts).trial, TrialState::kFailed);
}

TEST(Verdict, TheManagersReasonWinsOverTheExitStatus) {
  auto facts = Good();
  facts.stop = StopReason::kCancelled;
  EXPECT_EQ(Judge(facts),
            (Verdict{TrialState::kCancelled, TrialState::kQueued, Outcome::kCancelled, "the ensemble was stopped"}));
  facts.stop = StopReason::kPruned;
  facts.status = ExitStatus{1, 0};
  EXPECT_EQ(Judge(facts).trial, TrialState::kPruned);
  facts.stop = StopReason::kPaused;
  EXPECT_EQ(Judge(facts).trial, TrialState::kPaused);
}

/// It stands beside the state wherever it is shown.
TEST(Verdict, AReasonDoesNotRepeatTheState) {
  auto facts = Good();
  facts.stop_detail = "rung 0 (at 1): 0.5 is number 3 of 3";
  facts.stop = StopReason::kPaused;
  EXPECT_EQ(Judge(facts).reason, facts.stop_detail);
  facts.stop = StopReason::kPruned;
  EXPECT_EQ(Judge(facts).reason, facts.stop_detail);
  facts.stop_detail.clear();
  EXPECT_EQ(Judge(facts).reason, "");
  facts.stop = StopReason::kTimeLimit;
  EXPECT_EQ(Judge(facts).reason, "the time of the ensemble is over");
}

TEST(Verdict, AProgramThatAsksToGoOnWaitsWhereTheSchedulerLetsItOrQueuesAgain) {
  auto facts = Good();
  facts.status = ExitStatus{75, 0};
  facts.has_moved_on = true;
  facts.may_wait = true;
  EXPECT_EQ(Judge(facts),
            (Verdict{TrialState::kPaused, TrialState::kPaused, Outcome::kPaused, "it came to its limit"}));
  facts.may_wait = false;
  EXPECT_EQ(Judge(facts),
            (Verdict{TrialState::kPaused, TrialState::kQueued, Outcome::kPaused, "it asked to go on later"}));
  facts.has_moved_on = false;  // or it would ask for ever
  EXPECT_EQ(Judge(facts).trial, TrialState::kFailed);
}

TEST(Verdict, ATrialThatWasFasterThanTheOrderToStopIsComplete) {
  auto facts = Good();
  facts.stop = StopReason::kPaused;
  facts.is_whole = true;
  EXPECT_EQ(Judge(facts).trial, TrialState::kComplete);
  facts.status = ExitStatus{0, SIGTERM};
  EXPECT_EQ(Judge(facts).trial, TrialState::kPaused);
}

TEST(Verdict, WhatARetryCannotCureIsNotTriedAgain) {
  auto facts = Good();
  facts.retries = 5;
  facts.status = ExitStatus{0, SIGKILL};
  facts.cause = OutsideCause::kOutOfMemory;
  EXPECT_EQ(Judge(facts).trial, TrialState::kFailed);
  EXPECT_EQ(Judge(facts).outcome, Outcome::kOutOfMemory);
  facts.cause = OutsideCause::kNodeLost;
  EXPECT_EQ(Judge(facts).trial, TrialState::kQueued);
  facts.losses = 4;
  EXPECT_EQ(Judge(facts).trial, TrialState::kFailed);
}

TEST(Verdict, WhatRanWithoutRoomProvesNothing) {
  auto facts = Good();  // also with status 0 and a value: a later one may be missing
  facts.cause = OutsideCause::kDiskFull;
  EXPECT_EQ(Judge(facts).trial, TrialState::kQueued);
  EXPECT_EQ(Judge(facts).outcome, Outcome::kDiskFull);
  facts.losses = 4;
  EXPECT_EQ(Judge(facts).trial, TrialState::kComplete) << "the fifth counts as it is";
  facts.status = ExitStatus{3, 0};
  EXPECT_EQ(Judge(facts).trial, TrialState::kFailed);
  facts.status.reset();
  EXPECT_EQ(Judge(facts).trial, TrialState::kQueued) << "what was not started has cost nothing";
}

TEST(Verdict, WhatTheBatchSystemEndedIsNotTriedAgainAndTellsWhy) {
  auto facts = Good();  // also with status 0: a program may heed the warning before its time limit
  facts.retries = 5;
  facts.detail = "job 17";
  facts.cause = OutsideCause::kTimedOut;
  EXPECT_EQ(Judge(facts),
            (Verdict{TrialState::kFailed, TrialState::kFailed, Outcome::kTimedOut, "time limit: job 17"}));
  facts.cause = OutsideCause::kCancelled;
  EXPECT_EQ(Judge(facts), (Verdict{TrialState::kFailed, TrialState::kFailed, Outcome::kCancelled, "job 17"}));
  facts.stop = StopReason::kPruned;  // it was us
  EXPECT_EQ(Judge(facts).trial, TrialState::kPruned);
}

}  // namespace
}  // namespace slipway::ensemble
