#include "launcher/run/trials/trial_order.h"

#include <gtest/gtest.h>

#include <map>

#include "core/error.h"
#include "core/files.h"
#include "launcher/run/trials/batch_trial.h"
#include "launcher/run/trials/batch_trial_runner.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

using ensemble::OutsideCause;

class TrialFiles : public testing::Test {
 protected:
  test::TempDirectory directory_;
  const RunFolder run_ = RunFolder::Create(directory_.path(), "small", true);
  const RunFolder trial_ = RunFolder::BeginTrial(run_.trials() / "00007", run_);
};

TEST_F(TrialFiles, OrderIsReadAsItWasWritten) {
  EXPECT_FALSE(ReadTrialOrder(trial_)) << "a single run has none";
  WriteTrialOrder(trial_, {2, 3, {7, 1, 9.5}});
  const auto order = ReadTrialOrder(trial_);
  ASSERT_TRUE(order);
  EXPECT_EQ(order->attempt, 2);
  EXPECT_EQ(order->attempts_past, 3);
  EXPECT_EQ(order->terms.trial, 7);
  EXPECT_EQ(order->terms.repeat, 1);
  EXPECT_EQ(order->terms.limit, 9.5);
  WriteTrialOrder(trial_, {1, 0, {}});
  EXPECT_EQ(ReadTrialOrder(trial_)->terms.limit, std::nullopt);
}

TEST_F(TrialFiles, EndingIsReadAsItWasWritten) {
  EXPECT_FALSE(ReadTrialEnding(trial_));
  ASSERT_EQ(AllOf<OutsideCause>().size(), 7u);
  for (const auto cause : AllOf<OutsideCause>()) {
    WriteTrialEnding(trial_, {7, 2, {0, 9}, "rank 1 on n2: no \xff luck", cause, {}, 1, "Killed"});
    const auto ending = ReadTrialEnding(trial_);
    ASSERT_TRUE(ending);
    EXPECT_EQ(ending->attempt, 2);
    EXPECT_EQ(ending->status, (ExitStatus{0, 9}));
    EXPECT_EQ(ending->cause, cause);
    EXPECT_EQ(ending->rank, 1);
    EXPECT_EQ(ending->last_line, "Killed");
    EXPECT_EQ(ending->detail, "rank 1 on n2: no \xEF\xBF\xBD luck");
  }
}

TEST_F(TrialFiles, DamagedOnesAreNamed) {
  WriteFile(trial_.path() / "trial_order.json", R"({"attempt": "two"})");
  EXPECT_THROW(ReadTrialOrder(trial_), Error);
  WriteTrialEnding(trial_, {7, 1, {0, 9}, ""});
  const auto file = trial_.path() / "trial_ending.json";
  auto text = ReadFile(file);
  WriteFile(file, text.replace(text.find("\"none\""), 6, "\"magic\""));
  EXPECT_THROW(ReadTrialEnding(trial_), Error) << "an unknown cause is not no cause";
}

TEST_F(TrialFiles, ATrialThatBeginsAgainTellsNothingOfItsLastJob) {
  auto state = trial_.ReadState();
  state.batch_job = 12;
  state.attempt = 2;
  state.started = "2026-11-21T06:49:00.123Z";
  trial_.WriteState(state);
  const auto again = RunFolder::BeginTrial(trial_.path(), run_).ReadState();
  EXPECT_EQ(again.batch_job, 0u);
  EXPECT_EQ(again.attempt, 2);
  EXPECT_EQ(again.run, run_.id()) << "what can be resumed";
  EXPECT_EQ(again.phase, Phase::kCreated);
  EXPECT_EQ(again.started, "") << "its job waits";
}

class TrialInAJob : public TrialFiles {
 protected:
  TrialInAJob() {
    state_.batch_job = 12;
    WriteTrialOrder(trial_, {1, 0, {7}});
  }

  /// What the manager of the ensemble hears when it looks and the trial is as `state_` says.
  std::vector<ensemble::TrialEvent> Look() {
    trial_.WriteState(state_);
    ObservedRun observed{state_, job_, {}};
    std::vector<ensemble::TrialEvent> events;
    BatchTrial::Find(run_, 7, 1)->Take(observed, events);
    return events;
  }

  RunState state_ = trial_.ReadState();
  std::optional<SlurmJob> job_;
};

TEST_F(TrialInAJob, HasBegunWhenItsManagerHas) {
  state_.phase = Phase::kQueued;
  EXPECT_TRUE(Look().empty());
  state_.phase = Phase::kRunning;
  state_.started = "1970-01-01T00:01:00.500Z";
  job_.emplace().state = JobState::kRunning;
  job_->start = SlurmTime(std::chrono::seconds(50));
  const auto events = Look();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(std::get<ensemble::TrialBegan>(events[0]).time, 50) << "the nodes were its own since then";
}

TEST_F(TrialInAJob, WhoseEndIsSeenLateHasBegunAllTheSame) {
  state_.phase = Phase::kSucceeded;
  state_.started = "1970-01-01T00:01:00.500Z";
  WriteTrialEnding(trial_, {7, 1, {0, 0}, ""});
  const auto events = Look();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(std::get<ensemble::TrialBegan>(events[0]).time, 60.5);
  EXPECT_EQ(std::get<ensemble::TrialEnded>(events[1]).status, ExitStatus{});
}

TEST_F(TrialInAJob, ThatWasCancelledInTheQueueNeverBegan) {
  state_.phase = Phase::kCancelled;
  job_.emplace().state = JobState::kCancelled;
  job_->start = SlurmTime(std::chrono::seconds(50));
  const auto events = Look();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(std::get<ensemble::TrialEnded>(events[0]).cause, OutsideCause::kCancelled);
}

TEST_F(TrialInAJob, WhoseJobFailedBeforeItsManagerBeganWasNotStarted) {
  state_.phase = Phase::kFailed;
  job_.emplace().state = JobState::kFailed;
  job_->exit_code = 127;
  const auto events = Look();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(std::get<ensemble::TrialEnded>(events[0]).cause, OutsideCause::kNotStarted);
  EXPECT_EQ(std::get<ensemble::TrialEnded>(events[0]).status, (ExitStatus{127, 0}));
}

TEST_F(TrialInAJob, HasBegunBeforeItReports) {
  state_.phase = Phase::kRunning;
  state_.started = "1970-01-01T00:01:00.500Z";
  trial_.WriteState(state_);
  MakeDirectories(trial_.attempt(1));
  WriteFile(trial_.attempt(1) / "metrics.jsonl", R"({"time": 70, "step": 1, "epoch": null, "metrics": {"loss": 1}})"
                                                 "\n");
  std::vector<ensemble::TrialEvent> events;
  BatchTrial::Find(run_, 7, 1)->TakeMetrics(events);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(std::get<ensemble::TrialBegan>(events[0]).time, 60.5);
}

TEST(BatchTrial, TakesEveryStateOfSlurmForWhatItIs) {
  std::map<OutsideCause, int> causes;
  for (const auto state : AllOf<JobState>()) ++causes[OutsideCauseOf(state)];
  EXPECT_EQ(OutsideCauseOf(JobState::kTimeout), OutsideCause::kTimedOut);
  EXPECT_EQ(OutsideCauseOf(JobState::kOutOfMemory), OutsideCause::kOutOfMemory);
  EXPECT_EQ(OutsideCauseOf(JobState::kNodeFail), OutsideCause::kNodeLost);
  EXPECT_EQ(OutsideCauseOf(JobState::kPreempted), OutsideCause::kNodeLost);
  EXPECT_EQ(OutsideCauseOf(JobState::kCancelled), OutsideCause::kCancelled);
  EXPECT_EQ(OutsideCauseOf(JobState::kFailed), OutsideCause::kNone);
  EXPECT_EQ(causes[OutsideCause::kNone], 5);
}

TEST(BatchTrial, IsNotBlamedForAFullDisk) {
  EXPECT_EQ(OutsideCauseOf(cause::DiskFull{"no space"}), OutsideCause::kDiskFull);
  EXPECT_EQ(OutsideCauseOf(cause::RankFailed{0, "n1", {3, 0}}), OutsideCause::kNone);
}

TEST(BatchTrial, WaitsOnlyForWhatMayPass) {
  EXPECT_TRUE(MayBeTakenLater(SlurmTrouble::kLimit));
  EXPECT_TRUE(MayBeTakenLater(SlurmTrouble::kFull));
  EXPECT_TRUE(MayBeTakenLater(SlurmTrouble::kController));
  EXPECT_TRUE(MayBeTakenLater(SlurmTrouble::kTimeout));
  EXPECT_TRUE(MayBeTakenLater(SlurmTrouble::kClosed));
  EXPECT_FALSE(MayBeTakenLater(SlurmTrouble::kAccount));
  EXPECT_FALSE(MayBeTakenLater(SlurmTrouble::kPartition));
  EXPECT_FALSE(MayBeTakenLater(SlurmTrouble::kNoConfiguration));
}

}  // namespace
}  // namespace slipway::launcher
