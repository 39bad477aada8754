// What is seen of steps whose jobs are over, with a helper that answers as Slurm does.

#include "launcher/run/workflow/step_observation.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "core/files.h"
#include "launcher/cluster/slurm_messages.h"
#include "launcher/run/batch/batch_record.h"
#include "launcher/run/workflow/step_batch.h"
#include "launcher/run/workflow/workflow_folder.h"
#include "launcher/run/workflow/workflow_status.h"
#include "tests/ensemble/hand_clock.h"
#include "tests/launcher/workflow/workflow_of.h"

namespace slipway::launcher {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::HasSubstr;
using enum StepState;

/// `make` and `use`, which needs it, are the jobs 1 and 2.
class StepsInSlurm : public testing::Test {
 protected:
  StepsInSlurm() {
    WriteFile(place_ / "slurm.conf", "ClusterName=c\n");
    WriteFile(place_ / "helper", "#!/bin/sh\necho asked >> '" + Asked() + "'; cat >/dev/null; cat '" + Answer() + "'\n",
              0750);
    WriteFile(folder_.path() / kSubmittedSteps, "{}");
    auto state = folder_.ReadState();
    state.phase = Phase::kRunning;
    state.host.clear();
    folder_.WriteState(state);
    for (const auto& job : {made_, use_}) {
      const auto step = StepOf(job);
      MakeDirectories(StepFolder(folder_, step));
      WriteBatchRecord(StepFolder(folder_, step), {{.id = job.id, .comment = job.comment}, false, {}, {}});
    }
  }

  std::string Answer() const { return place_ / "answer"; }
  std::string Asked() const { return place_ / "asked"; }
  static std::string StepOf(const SlurmJob& job) { return job.comment.substr(job.comment.find('/') + 1); }

  SlurmJob JobOf(const std::string& step, JobId id, JobState state) const {
    SlurmJob job;
    job.id = id;
    job.user = ::geteuid();
    job.comment = CommentOfStep(folder_.path(), step);
    job.state = state;
    return job;
  }

  SlurmView View() {
    WriteFile(Answer(), AnswerLine(Json::array({ToJson(made_), ToJson(use_)}), "c") + "\n");
    SlurmClientOptions options;
    options.helper = place_ / "helper";
    options.environment.Set("SLURM_CONF", (place_ / "slurm.conf").string());
    return {SlurmClient(std::move(options)), clock_};
  }

  void EndMade(JobState state, ExitStatus status = {}) {
    made_.state = state;
    made_.exit_code = status.code;
    made_.end = std::chrono::time_point_cast<seconds>(clock_.Now());
  }

  using StatesOf = std::map<std::string, StepState>;

  StatesOf States() {
    const auto observed = ObserveSteps(folder_, View());
    EXPECT_EQ(observed.trouble, "");
    StatesOf states;
    for (const auto& [step, record] : observed.records) states.emplace(step, record.state);
    return states;
  }

  test::TempDirectory place_;
  RunFolder folder_ = PrepareWorkflowRun(
      place_ / "runs", test::WorkflowOf(place_, "  make: {command: [x]}\n  use: {command: [x], after: [make]}\n"), {});
  SlurmJob made_ = JobOf("make", 1, JobState::kRunning);
  SlurmJob use_ = JobOf("use", 2, JobState::kPending);
  ensemble::HandClock clock_;
};

TEST_F(StepsInSlurm, HaveNotFailedWhileTheirRecordIsNotVisibleYet) {
  EndMade(JobState::kCompleted);
  for (const auto passed : {seconds(0), seconds(119)}) {
    clock_.passed = passed;
    EXPECT_EQ(States(), (StatesOf{{"make", kRunning}, {"use", kWaiting}})) << passed.count();
    EXPECT_EQ(LookAtWorkflow(folder_, View()).state.phase, Phase::kRunning);
    EXPECT_EQ(ReadStepJournal(folder_.path()).size(), 0u) << "nothing is written";
  }
  StepJournal(JournalOfStep(folder_.path(), "make")).Write("make", {.state = kDone, .result = "key.1"});
  EXPECT_EQ(States(), (StatesOf{{"make", kDone}, {"use", kReady}}));
}

TEST_F(StepsInSlurm, AreSeenWithTheirRunByOneRequest) {
  const auto look = LookAtWorkflow(folder_, View());
  const auto rows = StepRowsOf(folder_, look);
  EXPECT_EQ(look.state.phase, Phase::kQueued);
  EXPECT_EQ(rows.at(0).record.state, kReady) << "its job runs, and has not written that the step does";
  EXPECT_EQ(ReadFile(Asked()), "asked\n");
}

TEST_F(StepsInSlurm, HaveFailedWhenTheirRecordDoesNotCome) {
  EndMade(JobState::kCompleted);
  clock_.passed = minutes(2);
  EXPECT_EQ(States(), (StatesOf{{"make", kFailed}, {"use", kWaiting}})) << "job 2 lives: Slurm is about to remove it";
  EXPECT_FALSE(HasEnded(LookAtWorkflow(folder_, View()).state.phase));
  EXPECT_EQ(ReadStepJournal(folder_.path()).size(), 0u);
  use_.state = JobState::kCancelled;
  EXPECT_EQ(States(), (StatesOf{{"make", kFailed}, {"use", kBlocked}}));
  const auto state = LookAtWorkflow(folder_, View()).state;
  EXPECT_EQ(state.phase, Phase::kFailed);
  const auto records = ReadStepJournal(folder_.path());
  EXPECT_THAT(records.at("make").reason, HasSubstr("job 1: has ended well, but it left no record of its end"));
  EXPECT_EQ(records.at("use").state, kBlocked);
}

TEST_F(StepsInSlurm, HaveFailedAtOnceWithTheirJobUnlessItIsShared) {
  EndMade(JobState::kFailed, {.code = 1});
  EXPECT_EQ(States().at("make"), kFailed);
  made_.comment = "slipway:" + folder_.id() + "/jobs/make-1";
  WriteBatchRecord(StepFolder(folder_, "make"), {{.id = made_.id, .comment = made_.comment}, false, {}, {}});
  EXPECT_EQ(States().at("make"), kRunning) << "another step of it may be the one";
  EndMade(JobState::kFailed, {.code = 137});
  EXPECT_EQ(States().at("make"), kFailed);
}

TEST_F(StepsInSlurm, AreBlockedAtOnceByAnEndThatIsRecorded) {
  EndMade(JobState::kFailed, {.code = 1});
  StepJournal(JournalOfStep(folder_.path(), "make")).Write("make", {.state = kFailed});
  EXPECT_EQ(States(), (StatesOf{{"make", kFailed}, {"use", kBlocked}}));
}

/// Nothing in the workflow's own folder says so.
TEST(StepsHere, SayThatTheirOwnRunIsPaused) {
  const test::TempDirectory place;
  const auto folder = PrepareWorkflowRun(place / "runs", test::WorkflowOf(place, "  make: {command: [x]}\n"), {});
  const auto run = RunFolder::Create(StepFolder(folder, "make"), "make", false);
  PauseNote note(run.path());
  note.Set({ensemble::PauseCause::kDiskFull, "No space left on device in '/scratch'"});
  auto state = run.ReadState();
  state.phase = Phase::kRunning;
  run.WriteState(state);
  WorkflowLook look{folder.ReadState(), {{"make", {.state = kRunning}}}};
  look.state.phase = Phase::kRunning;
  const auto row = StepRowsOf(folder, look).at(0);
  ASSERT_TRUE(row.pause.has_value());
  EXPECT_THAT(row.record.reason, HasSubstr("No space left on device in '/scratch'"));
  EXPECT_EQ(WorkflowDocument(folder, look)["steps"][0]["paused"]["cause"], "disk_full");

  EndAs(state, Phase::kFailed, cause::DiskFull{"full"});
  run.WriteState(state);
  EXPECT_FALSE(StepRowsOf(folder, look).at(0).pause.has_value()) << "the note of a run that has ended means nothing";
}

}  // namespace
}  // namespace slipway::launcher
