// Which of two jobs carries a run out, and why a manager is asked to end.

#include "launcher/run/batch/batch_turn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/parse_utc.h"
#include "launcher/run/ending/job_end_reason.h"
#include "launcher/run_folder/cancel_request.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

constexpr auto kNone = std::nullopt;

TEST(BatchTurn, IsThatOfTheJobThatWasSubmittedAndOfTheOneThatManages) {
  EXPECT_EQ(OtherJobOf({}, {12}, {12}), kNone);
  EXPECT_EQ(OtherJobOf({12}, {12}, {12}), kNone) << "queued again, under its number";
  EXPECT_EQ(OtherJobOf({}, {12}, {13}), JobIdentity{12});
  EXPECT_EQ(OtherJobOf({12}, {}, {13}), JobIdentity{12});
  EXPECT_EQ(OtherJobOf({13}, {12}, {13}), JobIdentity{12});
}

TEST(BatchTurn, IsNotThatOfAJobWithTheSameNumberOnAnotherCluster) {
  const JobIdentity alpha{12, "alpha"};
  EXPECT_EQ(OtherJobOf({}, alpha, {12, "beta"}), alpha);
  EXPECT_EQ(OtherJobOf(alpha, alpha, alpha), kNone);
  EXPECT_EQ(OtherJobOf({12}, {12}, alpha), kNone) << "written by an older version";
}

TEST(BatchTurn, IsFreeBeforeTheNumberIsKnown) { EXPECT_EQ(OtherJobOf({}, {}, {12}), kNone); }

TEST(BatchTurn, IsOverForAJobThatIsOlderThanACancellation) {
  using std::chrono::seconds;
  RunState state;
  state.phase = Phase::kCancelled;
  state.ended = "2026-11-28T01:00:00.500Z";
  const auto before = std::chrono::floor<seconds>(*ParseUtc(state.ended));
  EXPECT_TRUE(IsCancelledSince(state, before - seconds(60)));
  EXPECT_TRUE(IsCancelledSince(state, before));
  EXPECT_FALSE(IsCancelledSince(state, before + seconds(1))) << "somebody submitted job.sh again";
  EXPECT_TRUE(IsCancelledSince(state, {}));
  for (const auto phase : {Phase::kFailed, Phase::kLost, Phase::kRunning}) {
    state.phase = phase;
    EXPECT_FALSE(IsCancelledSince(state, before - seconds(60))) << PhaseName(phase);
  }
}

class CancelRequests : public testing::Test {
 protected:
  void Enter(Phase phase) const {
    auto state = folder_.ReadState();
    state.phase = phase;
    folder_.WriteState(state);
  }

  test::TempDirectory directory_;
  const RunFolder folder_ = RunFolder::Create(directory_.path(), "small", false);
};

TEST_F(CancelRequests, EndARunWhoseJobBeginsAfterThem) {
  Enter(Phase::kQueued);
  EXPECT_FALSE(CancelledBeforeItsJob(folder_));
  RequestCancel(folder_);
  EXPECT_TRUE(CancelledBeforeItsJob(folder_));
  EXPECT_EQ(folder_.ReadState().phase, Phase::kCancelled);
  EXPECT_NE(folder_.ReadState().ended, "");
}

TEST_F(CancelRequests, OfAnEarlierTimeEndNothing) {
  Enter(Phase::kRunning);
  RequestCancel(folder_);
  EXPECT_FALSE(CancelledBeforeItsJob(folder_));
  WithdrawCancelRequest(folder_);
  Enter(Phase::kQueued);
  EXPECT_FALSE(CancelledBeforeItsJob(folder_));
}

SlurmJob In(JobState state, std::vector<JobFlag> flags = {}) {
  SlurmJob job;
  job.state = state;
  job.flags = std::move(flags);
  return job;
}

TEST(JobFates, FollowFromWhatSlurmSays) {
  EXPECT_EQ(EndReasonOf(In(JobState::kRunning)), JobEndReason::kStays);
  EXPECT_EQ(EndReasonOf(In(JobState::kCancelled, {JobFlag::kCompleting})), JobEndReason::kRemoved);
  EXPECT_EQ(EndReasonOf(In(JobState::kTimeout, {JobFlag::kCompleting})), JobEndReason::kTimedOut);
  for (const auto state : {JobState::kNodeFail, JobState::kOutOfMemory, JobState::kFailed, JobState::kDeadline}) {
    EXPECT_EQ(EndReasonOf(In(state, {JobFlag::kCompleting})), JobEndReason::kEnded) << WordOf(state);
  }
  EXPECT_EQ(EndReasonOf(In(JobState::kPending, {JobFlag::kCompleting})), JobEndReason::kPutBack);
  EXPECT_EQ(EndReasonOf(In(JobState::kNodeFail, {JobFlag::kCompleting, JobFlag::kRequeue})), JobEndReason::kPutBack);
  auto making_room = In(JobState::kRunning);
  making_room.preempted = true;
  EXPECT_EQ(EndReasonOf(making_room), JobEndReason::kPreempted);
}

}  // namespace
}  // namespace slipway::launcher
