// What the Slurm job of a step reads and writes in the folder of its run, without Slurm.

#include "launcher/run/workflow/step_job.h"

#include <gmock/gmock.h>

#include <chrono>
#include <cstdlib>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"
#include "launcher/run/workflow/ended_steps.h"
#include "launcher/run/workflow/step_batch.h"
#include "launcher/run/workflow/step_journal.h"
#include "launcher/run/workflow/step_observation.h"
#include "launcher/workflow/workflow_document.h"
#include "tests/launcher/workflow/workflow_of.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using enum StepState;

StoredStep StepThatNeeds(const std::string& name, std::vector<std::string> needs) {
  return {.name = name, .kind = "command", .needs = std::move(needs), .description = ""};
}

TEST(EndedSteps, CoverAllOnlyWithEveryStep) {
  const std::vector<StoredStep> steps{StepThatNeeds("make", {}), StepThatNeeds("use-it", {"make"})};
  EXPECT_FALSE(CoverAll({}, steps));
  EXPECT_FALSE(CoverAll({{"make", kDone}}, steps));
  EXPECT_FALSE(CoverAll({{"make", kSkipped}}, steps)) << "the job of use-it says itself that it is skipped";
  EXPECT_FALSE(CoverAll({{"make", kDone}, {"gone", kDone}}, steps)) << "a step that the file no longer has";
  EXPECT_TRUE(CoverAll({{"make", kDone}, {"use-it", kReused}}, steps));
}

TEST(EndedSteps, CoverWhatNeedsAFailedOne) {
  const std::vector<StoredStep> steps{StepThatNeeds("all", {"use"}), StepThatNeeds("use", {"make"}),
                                      StepThatNeeds("make", {}), StepThatNeeds("other", {})};
  for (const auto state : {kFailed, kBlocked, kCancelled}) {
    EXPECT_FALSE(CoverAll({{"make", state}}, steps));
    EXPECT_TRUE(CoverAll({{"make", state}, {"other", kDone}}, steps));
  }
}

TEST(JournalOfAStep, IsOpenedAgainForAWriteAfterItsClose) {
  const test::TempDirectory place;
  MakeDirectories(place / "steps" / "make");
  StepJournal journal(JournalOfStep(place.path(), "make"));
  journal.Write("make", {.state = kRunning, .attempt = 1});
  EXPECT_TRUE(journal.Close());
  EXPECT_TRUE(journal.Close());
  journal.Write("make", {.state = kDone, .attempt = 1});
  EXPECT_EQ(ReadRecordOfStep(place.path(), "make").state, kDone);
}

/// `make` and `other`, which do not need each other, and `use`, which needs `make`.
class JobsOfSteps : public testing::Test {
 protected:
  JobsOfSteps() {
    WriteFile(folder_.path() / kSubmittedSteps, WriteWorkflowDocument(workflow_).dump());
    auto state = folder_.ReadState();
    state.phase = Phase::kRunning;
    state.host.clear();
    folder_.WriteState(state);
    for (const auto& step : workflow_.steps) MakeDirectories(StepFolder(folder_, step.name));
  }

  int CarryOut(const std::string& step) const {
    const auto output = MakeConsoleOutput(OutputMode::kQuiet);
    return CarryOutStepJob(folder_, {step}, *output);
  }
  StepState StateOf(const std::string& step) const { return ReadRecordOfStep(folder_.path(), step).state; }
  fs::path Mark(const std::string& name) const { return folder_.path() / "ended" / name; }

  test::TempDirectory place_;
  Workflow workflow_ = test::WorkflowOf(place_,
                                        "  make: {command: ['true']}\n  other: {command: ['true']}\n"
                                        "  use: {command: ['true'], after: [make]}\n");
  RunFolder folder_ = PrepareWorkflowRun(place_ / "runs", workflow_, {});
};

TEST_F(JobsOfSteps, ReadNoJournalOfOtherStepsBeforeTheLastOne) {
  BeginMarks(folder_);
  const auto unreadable = JournalOfStep(folder_.path(), "other");
  MakeDirectories(unreadable);
  ASSERT_THROW(ReadStepJournal(folder_.path()), Error);
  EXPECT_EQ(CarryOut("make"), 0);
  EXPECT_EQ(CarryOut("use"), 0);
  EXPECT_EQ(StateOf("use"), kDone);
  EXPECT_TRUE(fs::exists(Mark("done-use")));
  EXPECT_EQ(folder_.ReadState().phase, Phase::kRunning);
  fs::remove(unreadable);
  EXPECT_EQ(CarryOut("other"), 0);
  EXPECT_EQ(folder_.ReadState().phase, Phase::kSucceeded) << "the last one records the end";
}

TEST_F(JobsOfSteps, LookAtAllJournalsInARunWithoutMarks) {
  for (const auto& step : {"make", "other", "use"}) EXPECT_EQ(CarryOut(step), 0);
  EXPECT_FALSE(fs::exists(folder_.path() / "ended"));
  EXPECT_EQ(folder_.ReadState().phase, Phase::kSucceeded);
}

TEST_F(JobsOfSteps, TrustTheJournalsAndNotTheMarks) {
  BeginMarks(folder_);
  ASSERT_TRUE(MarkEnd(folder_, "other", kDone));  // its process was killed before it wrote the journal
  EXPECT_EQ(CarryOut("make"), 0);
  EXPECT_EQ(CarryOut("use"), 0);
  EXPECT_TRUE(MayBeOver(folder_));
  EXPECT_EQ(folder_.ReadState().phase, Phase::kRunning);
  EXPECT_EQ(CarryOut("other"), 0) << "it is queued again";
  EXPECT_EQ(folder_.ReadState().phase, Phase::kSucceeded);
}

TEST_F(JobsOfSteps, FindTheEndThatAKilledOneDidNotRecord) {
  BeginMarks(folder_);
  EXPECT_EQ(CarryOut("make"), 0);
  EXPECT_EQ(CarryOut("other"), 0);
  ASSERT_TRUE(MarkEnd(folder_, "use", kFailed));
  StepJournal(JournalOfStep(folder_.path(), "use")).Write("use", {.state = kFailed, .attempt = 1});
  EXPECT_EQ(CarryOut("use"), 1) << "its job is queued again, and finds the end of the step";
  EXPECT_EQ(folder_.ReadState().phase, Phase::kFailed);
}

TEST_F(JobsOfSteps, NoLongerCountAStepThatIsCarriedOutAgain) {
  BeginMarks(folder_);
  for (const auto& step : {"make", "other"}) ASSERT_TRUE(MarkEnd(folder_, step, kDone));
  ASSERT_TRUE(MarkEnd(folder_, "use", kFailed));
  EXPECT_TRUE(MayBeOver(folder_));
  RemoveMark(folder_, "use", kFailed);
  EXPECT_FALSE(MayBeOver(folder_));
}

TEST_F(JobsOfSteps, ChangeTheFolderOfTheMarksSoThatItIsListedAnew) {
  BeginMarks(folder_);
  ASSERT_TRUE(MarkEnd(folder_, "make", kDone));
  const auto folder = folder_.path() / "ended";
  const auto long_ago = fs::file_time_type::clock::now() - std::chrono::hours(1);
  fs::last_write_time(folder, long_ago);
  EXPECT_FALSE(MayBeOver(folder_));
  EXPECT_NE(fs::last_write_time(folder), long_ago);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1) << "nothing else stays there";
}

TEST(JobsOfArrays, KnowTheStepOfTheirTask) {
  const test::TempDirectory place;
  const auto workflow = test::WorkflowOf(place, "  a: {foreach: [p, q, r, s], command: ['true', '${item}']}\n");
  const auto count = workflow.steps.size();
  JobFacts facts{std::vector<bool>(count, true),
                 std::vector<bool>(count, false),
                 std::vector<std::optional<Seconds>>(count),
                 {},
                 2};
  const auto jobs = ShapeJobs(workflow, facts);
  ASSERT_EQ(jobs.size(), 2u);
  const auto first = MakeStepJob(workflow, jobs[0], place / "run", 1, "");
  const auto second = MakeStepJob(workflow, jobs[1], place / "run", 1, "");
  EXPECT_EQ(first.array, "0-1");
  EXPECT_EQ(second.array, "0-1");
  EXPECT_NE(first.comment, second.comment);
  EXPECT_THAT(std::vector(first.command.end() - 2, first.command.end()), ElementsAre("a", "--array-task"));
  EXPECT_THAT(std::vector(second.command.end() - 4, second.command.end()),
              ElementsAre("a", "--array-task", "--first-index", "2"));
  ::setenv("SLURM_ARRAY_JOB_ID", "7", 1);
  ::setenv("SLURM_ARRAY_TASK_ID", "1", 1);
  EXPECT_EQ(StepOfArrayTask("a", 2), "a.3");
  ::unsetenv("SLURM_ARRAY_JOB_ID");
  ::unsetenv("SLURM_ARRAY_TASK_ID");
}

}  // namespace
}  // namespace slipway::launcher
