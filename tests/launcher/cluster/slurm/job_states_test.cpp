// Slurm's states and flags: their names, and what they mean for us.

#include "launcher/cluster/job_states.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace slipway::launcher {
namespace {

using Flags = std::vector<JobFlag>;
using testing::HasSubstr;

TEST(JobStates, AreTheTwelveOfSlurmInItsOrder) {
  std::vector<std::string> names;
  for (const auto state : AllOf<JobState>()) names.emplace_back(WordOf(state));
  EXPECT_THAT(names,
              testing::ElementsAre("PENDING", "RUNNING", "SUSPENDED", "COMPLETED", "CANCELLED", "FAILED", "TIMEOUT",
                                   "NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "DEADLINE", "OUT_OF_MEMORY"));
}

TEST(JobStates, AreFoundByTheirNames) {
  for (const auto state : AllOf<JobState>()) EXPECT_EQ(FromWord<JobState>(WordOf(state)), state);
  for (const auto flag : AllOf<JobFlag>()) EXPECT_EQ(FromWord<JobFlag>(WordOf(flag)), flag);
  EXPECT_EQ(FromWord<JobState>("pending"), std::nullopt);
  EXPECT_EQ(FromWord<JobState>(""), std::nullopt);
  EXPECT_EQ(FromWord<JobFlag>("PENDING"), std::nullopt);
}

TEST(JobStates, HaveWordsOfTheirOwn) {
  std::set<std::string> words;
  for (const auto state : AllOf<JobState>()) words.insert(InWords(state, {}));
  EXPECT_EQ(words.size(), AllOf<JobState>().size());
  EXPECT_EQ(words.count(""), 0u);
  for (const auto flag : AllOf<JobFlag>()) words.insert(InWords(JobState::kRunning, Flags{flag}));
  EXPECT_EQ(words.size(), AllOf<JobState>().size() + AllOf<JobFlag>().size());
}

TEST(JobStates, SayWhatTheFlagsAdd) {
  EXPECT_EQ(InWords(JobState::kTimeout, Flags{JobFlag::kCompleting, JobFlag::kStageOut}),
            "ran past its time limit; its nodes are being cleaned up; its burst buffer is being copied out");
}

struct PhaseCase {
  JobState state;
  Flags flags;
  JobPhase phase;
};

class JobPhases : public testing::TestWithParam<PhaseCase> {};

TEST_P(JobPhases, FollowFromStateAndFlags) { EXPECT_EQ(PhaseOf(GetParam().state, GetParam().flags), GetParam().phase); }

INSTANTIATE_TEST_SUITE_P(
    Table, JobPhases,
    testing::Values(
        PhaseCase{JobState::kPending, {}, JobPhase::kWaiting},
        PhaseCase{JobState::kPending, {JobFlag::kRequeueHold}, JobPhase::kWaiting},
        PhaseCase{JobState::kPending, {JobFlag::kSpecialExit}, JobPhase::kWaiting},
        PhaseCase{JobState::kRunning, {}, JobPhase::kRunning},
        PhaseCase{JobState::kRunning, {JobFlag::kConfiguring}, JobPhase::kRunning},
        PhaseCase{JobState::kSuspended, {}, JobPhase::kRunning}, PhaseCase{JobState::kCompleted, {}, JobPhase::kOver},
        PhaseCase{JobState::kCompleted, {JobFlag::kCompleting}, JobPhase::kEnding},
        PhaseCase{JobState::kCompleted, {JobFlag::kStageOut}, JobPhase::kEnding},
        PhaseCase{JobState::kFailed, {JobFlag::kRequeue, JobFlag::kCompleting}, JobPhase::kEnding},
        PhaseCase{JobState::kNodeFail, {JobFlag::kRequeue}, JobPhase::kEnding},
        PhaseCase{JobState::kPreempted, {JobFlag::kRequeueFederated}, JobPhase::kEnding},
        PhaseCase{JobState::kCancelled, {}, JobPhase::kOver}, PhaseCase{JobState::kTimeout, {}, JobPhase::kOver},
        PhaseCase{JobState::kBootFail, {}, JobPhase::kOver}, PhaseCase{JobState::kDeadline, {}, JobPhase::kOver},
        PhaseCase{JobState::kOutOfMemory, {JobFlag::kLaunchFailed}, JobPhase::kOver}));

TEST(JobStates, NineAreFinal) {
  EXPECT_EQ(std::ranges::count_if(AllOf<JobState>(), IsFinal), 9);
  EXPECT_FALSE(IsFinal(JobState::kSuspended));
}

}  // namespace
}  // namespace slipway::launcher
