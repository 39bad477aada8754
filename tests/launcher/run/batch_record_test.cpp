#include "launcher/run/batch/batch_record.h"

#include <gtest/gtest.h>

#include "core/files.h"
#include "launcher/run/batch/batch_observation.h"
#include "launcher/run/batch/batch_run.h"
#include "launcher/run/batch/job_of_run.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

class Records : public testing::Test {
 protected:
  test::TempDirectory directory_;
  const RunFolder folder_ = RunFolder::Create(directory_.path(), "small", false);
};

TEST_F(Records, AreReadAsTheyWereWritten) {
  const JobIdentity job{12, "alpha", "slipway:small-1", "", 1000, 3};
  WriteBatchRecord(folder_.path(), {job, true, "no \xff space", "no answer"});
  const auto record = ReadBatchRecord(folder_.path());
  EXPECT_EQ(record.job, job);
  EXPECT_TRUE(record.stages_out);
  EXPECT_EQ(record.doubt, "no answer");
  EXPECT_EQ(record.lost, "no \xEF\xBF\xBD space") << "what tools say is in any encoding";
}

TEST_F(Records, ThatAreMissingOrDamagedAreOfNoJob) {
  EXPECT_EQ(ReadBatchRecord(folder_.path()).job, JobIdentity{});
  for (const auto text : {"", "[]", "{", R"({"job": "twelve"})", R"({"job": -1, "stages_out": 3})"}) {
    WriteFile(folder_.path() / "batch_job.json", text);
    EXPECT_FALSE(ReadBatchRecord(folder_.path()).stages_out) << text;
  }
}

TEST_F(Records, OfAnEarlierJobCountNoMoreInAnotherProcess) {
  auto state = folder_.ReadState();
  state.phase = Phase::kQueued;
  state.batch_job = 12;
  folder_.WriteState(state);
  WriteBatchRecord(folder_.path(), {{12, "alpha"}, true, {}, {}});
  EXPECT_TRUE(IsInBatchSystem(folder_, folder_.ReadState()));
  ForgetBatchJob(folder_);
  EXPECT_FALSE(IsInBatchSystem(folder_, folder_.ReadState()));
  EXPECT_EQ(folder_.ReadState().batch_job, 0u);
  EXPECT_EQ(folder_.ReadState().batch_cluster, "");
}

TEST_F(Records, OfATaskLeadToItAndToNoOtherOfItsArray) {
  WriteBatchRecord(folder_.path(), {{12, "alpha", "c", "", 1000, 3}, false, {}, {}});
  auto state = folder_.ReadState();
  EXPECT_EQ(JobOf(folder_, state).task, 3u);
  state.batch_job = 12;
  state.batch_task = 4;
  folder_.WriteState(state);
  EXPECT_EQ(JobOf(folder_, folder_.ReadState()).task, 4u);
}

TEST_F(Records, OfOlderVersionsHaveANumberOnly) {
  WriteFile(folder_.path() / "batch_job.json", R"({"schema": "slipway.batch-job/1", "job": 12, "stages_out": false})");
  EXPECT_EQ(ReadBatchRecord(folder_.path()).job, JobIdentity{12});
}

TEST_F(Records, LeadToTheJobOfTheRunAndToNoOther) {
  WriteBatchRecord(folder_.path(), {{12, "alpha", "slipway:" + folder_.id(), "", 1000}, false, {}, {}});
  auto state = folder_.ReadState();
  EXPECT_EQ(JobOf(folder_, state), (JobIdentity{12, "alpha", "slipway:" + folder_.id(), folder_.path(), 1000}));
  state.batch_job = 13;  // the manager woke up in another job of the run
  state.batch_cluster = "beta";
  EXPECT_EQ(JobOf(folder_, state).id, 13u);
  EXPECT_EQ(JobOf(folder_, state).cluster, "beta");
}

TEST_F(Records, NothingIsForgottenOfARunThatWasNeverSubmitted) {
  auto state = folder_.ReadState();
  state.phase = Phase::kFailed;
  folder_.WriteState(state);
  ForgetBatchJob(folder_);
  EXPECT_EQ(folder_.ReadState().phase, Phase::kFailed);
}

}  // namespace
}  // namespace slipway::launcher
