// What a run in the batch system is said to do, from its own state and from Slurm's.

#include "launcher/run/batch/batch_state.h"

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

TEST(WithJob, SaysWhatToDoAboutAStageInThatFailed) {
  auto job = Job(JobState::kPending, "BurstBufferOperation");
  job.reason_text = "dws_data_in: /data/train:\n no such file\n";
  job.priority = 0;
  job.start = SlurmTime(std::chrono::seconds(1'000'000'000));
  const auto reason = WithJob(Stored(Phase::kQueued), job).reason;
  EXPECT_THAT(reason, HasSubstr("dws_data_in: /data/train: no such file (BurstBufferOperation)"));
  EXPECT_THAT(reason, HasSubstr("slipway cancel small-1, then slipway resume small-1"));
  EXPECT_THAT(WithJob(Stored(Phase::kQueued), job, "'my runs/small-1'").reason,
              HasSubstr("slipway cancel 'my runs/small-1', then slipway resume 'my runs/small-1'"));
  EXPECT_EQ(reason.find("expected to start"), std::string::npos) << "it is held";
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

TEST(WithJob, SaysThatItIsSuspended) {
  for (const auto phase : {Phase::kQueued, Phase::kRunning}) {
    const auto suspended = WithJob(Stored(phase), Job(JobState::kSuspended));
    EXPECT_EQ(suspended.phase, phase);
    EXPECT_EQ(suspended.reason, "job 12 is suspended by Slurm: it keeps its nodes");
  }
}

TEST(WithJob, NamesTheJobInWhatItAdvises) {
  EXPECT_EQ(WithJob(Stored(Phase::kQueued), Job(JobState::kPending, "JobHeldUser")).reason,
            "job 12 waits: it is held by its owner; scontrol release 12 lets it go");
}

TEST(WithJob, EndsWhatHasNoManagerToSaySo) {
  EXPECT_EQ(WithJob(Stored(Phase::kQueued), Job(JobState::kCancelled)).phase, Phase::kCancelled);
  for (const auto state : {JobState::kTimeout, JobState::kNodeFail, JobState::kFailed, JobState::kOutOfMemory}) {
    const auto ended = WithJob(Stored(Phase::kRunning), Job(state));
    EXPECT_EQ(ended.phase, Phase::kFailed);
    EXPECT_THAT(ended.reason, HasSubstr("slipway resume small-1"));
    ASSERT_TRUE(Is<cause::JobEnded>(ended.cause));
    EXPECT_EQ(std::get<cause::JobEnded>(*ended.cause).state, state);
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

TEST(StageOut, IsAPartOfTheRun) {
  auto state = Stored(Phase::kSucceeded);
  state.ended = "2026-01-01T00:00:00Z";
  const auto copying = WhileStagingOut(state, Job(JobState::kCompleted));
  EXPECT_FALSE(HasEnded(copying.phase));
  EXPECT_EQ(copying.ended, "");
  EXPECT_THAT(copying.reason, HasSubstr("succeeded; job 12 copies results out"));
}

TEST(StageOut, ThatFailedIsToldBesideTheOutcome) {
  auto state = Stored(Phase::kFailed);
  state.detail = "rank 1 died";
  const auto told = WithLostResults(state, 12, "no space\nleft\n");
  EXPECT_EQ(told.phase, Phase::kFailed);
  EXPECT_THAT(told.detail, HasSubstr("rank 1 died\n\njob 12"));
  EXPECT_THAT(told.detail, HasSubstr("no space left"));
}

}  // namespace
}  // namespace slipway::launcher
