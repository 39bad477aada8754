#include "launcher/ranks/local/group_state.h"

#include <gtest/gtest.h>

#include <array>
#include <initializer_list>

namespace slipway::launcher {
namespace {

using enum GroupEvent;

GroupState After(std::initializer_list<GroupEvent> events, GroupState state = {}) {
  for (const auto event : events) state = Next(state, event);
  return state;
}

constexpr std::array kEvents{kComplete, kRelease, kFail, kStop, kCannotStart, kLeaderEnded, kSilent};

TEST(GroupState, RunsWhenAllHaveComeAndTheCallerReleasesThem) {
  EXPECT_EQ(After({kComplete}).stage, GroupStage::kReady);
  EXPECT_EQ(After({kRelease}).stage, GroupStage::kReleased);
  const GroupState running{GroupStage::kRunning, GroupEndCause::kNone, true};
  EXPECT_EQ(After({kComplete, kRelease}), running);
  EXPECT_EQ(After({kRelease, kComplete}), running);
}

TEST(GroupState, NeverRunsAfterAnEnd) {
  for (const auto end : {kFail, kStop, kCannotStart, kLeaderEnded}) {
    EXPECT_FALSE(After({end, kComplete, kRelease}).began);
    EXPECT_FALSE(After({kComplete, end, kRelease}).began);
    EXPECT_FALSE(After({kRelease, end, kComplete}).began);
  }
}

TEST(GroupState, KeepsTheFirstCauseButAStopCountsMore) {
  EXPECT_EQ(After({kComplete, kRelease, kFail, kCannotStart}).cause, GroupEndCause::kFailure);
  EXPECT_EQ(After({kCannotStart, kFail}).cause, GroupEndCause::kNoStart);
  EXPECT_EQ(After({kComplete, kRelease, kFail, kStop}).cause, GroupEndCause::kStop);
  EXPECT_EQ(After({kComplete, kRelease, kStop, kFail}).cause, GroupEndCause::kStop);
}

TEST(GroupState, DrainsUntilAllAreSilent) {
  const auto draining = After({kComplete, kRelease, kLeaderEnded});
  EXPECT_EQ(draining, (GroupState{GroupStage::kDraining, GroupEndCause::kNone, true}));
  EXPECT_EQ(Next(draining, kFail), (GroupState{GroupStage::kDraining, GroupEndCause::kFailure, true}));
  EXPECT_EQ(Next(draining, kSilent).stage, GroupStage::kOver);
  EXPECT_EQ(After({kSilent}).stage, GroupStage::kGathering) << "mpirun may still start shims";
}

TEST(GroupState, StaysOver) {
  const auto over = After({kComplete, kRelease, kStop, kLeaderEnded, kSilent});
  for (const auto event : kEvents) EXPECT_EQ(Next(over, event), over);
}

/// Whatever happens in whatever order.
TEST(GroupState, NeverTakesAnEndBack) {
  for (const auto a : kEvents) {
    for (const auto b : kEvents) {
      for (const auto c : kEvents) {
        const auto before = After({a, b});
        const auto after = Next(before, c);
        EXPECT_GE(after.began, before.began);
        EXPECT_TRUE(before.cause == GroupEndCause::kNone || after.cause != GroupEndCause::kNone);
        EXPECT_TRUE(before.stage < GroupStage::kEnding || after.stage >= before.stage);
      }
    }
  }
}

}  // namespace
}  // namespace slipway::launcher
