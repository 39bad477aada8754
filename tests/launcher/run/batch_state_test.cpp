// What a run in the batch system is said to do, from its own state and from Slurm's.

#include "launcher/run/batch_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace slipway::launcher {
namespace {

using testing::HasSubstr;

RunState Stored(Phase phase) {
  RunState state;
  state.run = "small-1";
  state.phase = phase;
  state.batch_job = 12;
  return state;
}

SlurmJob Job(JobState state, const std::string& reason = "") {
  SlurmJob job;
  job.id = 12;
  job.state = state;
  job.reason = reason;
  return job;
}

TEST(WithJob, SaysWhyItWaits) {
  const auto waiting = WithJob(Stored(Phase::kQueued), Job(JobState::kPending, "Priority"));
  EXPECT_EQ(waiting.phase, Phase::kQueued);
  EXPECT_THAT(waiting.reason, HasSubstr("job 12 waits: "));
  EXPECT_EQ(waiting.reason.find("Priority"), std::string::npos) << "in words";
}

TEST(WithJob, PrefersWhatTheSiteSays) {
  auto job = Job(JobState::kPending, "BurstBufferStageIn");
  job.reason_text = "no such file: /data/train";
  EXPECT_THAT(WithJob(Stored(Phase::kQueued), job).reason, HasSubstr("no such file: /data/train"));
}

TEST(WithJob, IsQueuedAgainAfterTheLossOfANode) {
  EXPECT_EQ(WithJob(Stored(Phase::kRunning), Job(JobState::kPending, "BeginTime")).phase, Phase::kQueued);
}

TEST(WithJob, LeavesARunningRunToItsManager) {
  auto state = Stored(Phase::kStaging);
  state.reason = "as it is";
  const auto running = WithJob(state, Job(JobState::kRunning));
  EXPECT_EQ(running.phase, Phase::kStaging);
  EXPECT_EQ(running.reason, "as it is");
  EXPECT_THAT(WithJob(Stored(Phase::kQueued), Job(JobState::kRunning)).reason, HasSubstr("is starting"));
}

TEST(WithJob, EndsWhatHasNoManagerToSaySo) {
  EXPECT_EQ(WithJob(Stored(Phase::kQueued), Job(JobState::kCancelled)).phase, Phase::kCancelled);
  for (const auto state : {JobState::kTimeout, JobState::kNodeFail, JobState::kFailed, JobState::kOutOfMemory}) {
    const auto ended = WithJob(Stored(Phase::kRunning), Job(state));
    EXPECT_EQ(ended.phase, Phase::kFailed);
    EXPECT_THAT(ended.reason, HasSubstr("slipway resume small-1"));
  }
  // A script that ended well without the manager's last word has not done its work.
  EXPECT_EQ(WithJob(Stored(Phase::kRunning), Job(JobState::kCompleted)).phase, Phase::kFailed);
}

TEST(WithJob, IsLostWhenSlurmHasForgottenTheJob) {
  EXPECT_EQ(WithJob(Stored(Phase::kRunning), std::nullopt).phase, Phase::kLost);
}

TEST(WithJob, LeavesEndedRunsAlone) {
  auto state = Stored(Phase::kSucceeded);
  EXPECT_EQ(WithJob(state, std::nullopt).phase, Phase::kSucceeded);
  EXPECT_EQ(WithJob(state, Job(JobState::kFailed)).phase, Phase::kSucceeded);
}

}  // namespace
}  // namespace slipway::launcher
