#include "launcher/attempt/restart_policy.h"

#include <gtest/gtest.h>

namespace slipway::launcher {
namespace {

EndedAttempt Asking(std::uint64_t saved = 0, std::int64_t reported = 0) {
  return {.asks_for_turn = true, .saved = saved, .reported = reported};
}

TEST(RestartPolicy, RestartsAfterFailuresAsOftenAsAllowed) {
  RestartPolicy policy({.max_restarts = 2}, 0);
  EXPECT_EQ(policy.After({}), Again::kYes);
  EXPECT_EQ(policy.After({}), Again::kYes);
  EXPECT_EQ(policy.After({}), Again::kNo);
}

TEST(RestartPolicy, ASuccessIsTheEnd) {
  EXPECT_EQ(RestartPolicy({.max_restarts = 2}, 0).After({.success = true}), Again::kNo);
}

TEST(RestartPolicy, AnInterruptIsTheEndWhateverElseHappened) {
  RestartPolicy policy({.max_restarts = 2}, 0);
  EXPECT_EQ(policy.After({.interrupted = true, .node_lost = true, .asks_for_turn = true}), Again::kNo);
}

TEST(RestartPolicy, ALostNodeCostsNoRestart) {
  RestartPolicy policy({.max_restarts = 1}, 0);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(policy.After({.node_lost = true}), Again::kWithoutLostNodes);
  EXPECT_EQ(policy.After({}), Again::kYes);
}

TEST(RestartPolicy, AStartThatFailsIsRepeatedOnce) {
  RestartPolicy policy({.is_trial = true}, 0);
  EXPECT_EQ(policy.After({.start_failed = true}), Again::kYes);
  EXPECT_EQ(policy.After({.start_failed = true}), Again::kNo);
}

TEST(RestartPolicy, AnEnsembleDecidesAboutItsTrials) {
  EXPECT_EQ(RestartPolicy({.max_restarts = 2, .is_trial = true}, 0).After({}), Again::kNo);
  EXPECT_EQ(RestartPolicy({.is_trial = true}, 0).After(Asking(5)), Again::kNo);
}

TEST(RestartPolicy, AProgramThatMakesProgressGetsAnotherTurn) {
  RestartPolicy policy({}, 3);
  EXPECT_EQ(policy.After(Asking(4)), Again::kYes);
  EXPECT_EQ(policy.After(Asking(4, 7)), Again::kYes);
  EXPECT_EQ(policy.unseen_turns(), 0);
}

TEST(RestartPolicy, AProgramThatShowsNoProgressIsBelievedForSomeTurns) {
  RestartPolicy policy({}, 3);
  for (int i = 0; i < RestartPolicy::kMostUnseenTurns; ++i) EXPECT_EQ(policy.After(Asking(3)), Again::kYes) << i;
  EXPECT_EQ(policy.After(Asking(3)), Again::kNo);
  EXPECT_GT(policy.unseen_turns(), RestartPolicy::kMostUnseenTurns);
}

TEST(RestartPolicy, TheTimeLimitEndsARunUnlessItShallGoOn) {
  EXPECT_EQ(RestartPolicy({.max_restarts = 2}, 0).After({.at_time_limit = true, .asks_for_turn = true, .saved = 9}),
            Again::kNo);
  RestartPolicy policy({.goes_on_at_time_limit = true}, 0);
  EXPECT_EQ(policy.After({.at_time_limit = true, .saved = 9}), Again::kYes);
  EXPECT_EQ(policy.After({.at_time_limit = true, .saved = 9}), Again::kNo) << "no further step was saved";
}

}  // namespace
}  // namespace slipway::launcher
