// How libslurm's records and codes are read, without a controller.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launcher/cluster/module/jobs.h"
#include "launcher/cluster/module/library.h"

namespace slipway::launcher {
namespace {

using testing::ElementsAre;

TEST(SlurmModule, ReadsTheTwelveStates) {
  ASSERT_EQ(AllOf<JobState>().size(), static_cast<std::size_t>(JOB_END));
  for (std::uint32_t number = 0; number < JOB_END; ++number) {
    slurm_job_info_t info{};
    info.job_state = number;
    EXPECT_EQ(JobFrom(info).state, AllOf<JobState>()[number]);
  }
  slurm_job_info_t unknown{};
  unknown.job_state = JOB_END;
  EXPECT_THROW(JobFrom(unknown), SlurmError);
}

TEST(SlurmModule, ReadsEveryFlag) {
  slurm_job_info_t info{};
  info.job_state = JOB_TIMEOUT | JOB_STATE_FLAGS;
  const auto all = JobFrom(info);
  EXPECT_EQ(all.state, JobState::kTimeout);
  EXPECT_EQ(all.flags, AllOf<JobFlag>());
  info.job_state = JOB_COMPLETE | JOB_COMPLETING | JOB_STAGE_OUT;
  EXPECT_THAT(JobFrom(info).flags, ElementsAre(JobFlag::kCompleting, JobFlag::kStageOut));
}

TEST(SlurmModule, ReadsExitCodesAsWaitStatus) {
  slurm_job_info_t info{};
  info.exit_code = 0x300;
  EXPECT_EQ(JobFrom(info).status(), (ExitStatus{3, 0}));
  info.exit_code = 9;
  EXPECT_EQ(JobFrom(info).status(), (ExitStatus{0, 9}));
  info.exit_code = NO_VAL;
  EXPECT_EQ(JobFrom(info).status(), ExitStatus());
}

TEST(SlurmModule, TellsWhatWaitsFromWhatIsRefused) {
  EXPECT_TRUE(MeansWaiting(ESLURM_NODES_BUSY));
  EXPECT_TRUE(MeansWaiting(ESLURM_RESERVATION_BUSY));
  EXPECT_FALSE(MeansWaiting(ESLURM_INVALID_ACCOUNT));
  EXPECT_FALSE(MeansWaiting(SLURM_COMMUNICATIONS_CONNECTION_ERROR));
}

TEST(SlurmModule, TellsReasonsByTheirNames) {
  slurm_job_info_t info{};
  info.state_reason = WAIT_RESOURCES;
  EXPECT_EQ(JobFrom(info).reason, "Resources");
  info.state_reason = FAIL_BURST_BUFFER_OP;
  EXPECT_EQ(JobFrom(info).reason, "BurstBufferOperation");
}

TEST(SlurmModule, SpellsNodesOut) {
  slurm_job_info_t info{};
  char nodes[] = "n[08-10,12],gpu1";
  info.nodes = nodes;
  EXPECT_THAT(JobFrom(info).nodes, ElementsAre("n08", "n09", "n10", "n12", "gpu1"));
  info.nodes = nullptr;
  EXPECT_TRUE(JobFrom(info).nodes.empty());
}

TEST(SlurmModule, KnowsNumbersThatAreNotGiven) {
  slurm_job_info_t info{};
  info.array_task_id = NO_VAL;
  info.requeue = NO_VAL16;
  for (const std::uint32_t limit : {NO_VAL, INFINITE}) {
    info.time_limit = limit;
    EXPECT_EQ(JobFrom(info).time_limit_minutes, 0);
  }
  const auto job = JobFrom(info);
  EXPECT_EQ(job.array_tasks, "");
  EXPECT_FALSE(job.requeue || job.submitted || job.start || job.end);
}

TEST(SlurmModule, TellsCodesApartByWhatToDo) {
  const std::pair<int, SlurmTrouble> expected[] = {
      {1001, SlurmTrouble::kController},     {1800, SlurmTrouble::kController},
      {1801, SlurmTrouble::kController},     {1803, SlurmTrouble::kController},
      {5004, SlurmTrouble::kController},     {1005, SlurmTrouble::kVersion},
      {1007, SlurmTrouble::kAuthentication}, {6000, SlurmTrouble::kAuthentication},
      {6007, SlurmTrouble::kAuthentication}, {2000, SlurmTrouble::kPartition},
      {2045, SlurmTrouble::kAccount},        {2066, SlurmTrouble::kQos},
      {2051, SlurmTrouble::kTime},           {2017, SlurmTrouble::kUnknownJob},
      {2021, SlurmTrouble::kOver},           {2094, SlurmTrouble::kBurstBuffer},
      {2002, SlurmTrouble::kDenied},         {0, SlurmTrouble::kRefused},
      {-1, SlurmTrouble::kRefused},          {99999, SlurmTrouble::kRefused}};
  for (const auto& [code, trouble] : expected) EXPECT_EQ(WordOf(TroubleOf(code)), WordOf(trouble)) << code;
}

TEST(SlurmModule, ThrowsForBothWaysOfTellingAnError) {
  EXPECT_NO_THROW(CheckSlurm(SLURM_SUCCESS, "x"));
  for (const int result : {-1, 2017}) {
    errno = 2017;
    try {
      CheckSlurm(result, "asking");
      ADD_FAILURE();
    } catch (const SlurmError& error) {
      EXPECT_EQ(error.report(), (TroubleReport{SlurmTrouble::kUnknownJob, 2017, "Invalid job id specified", "asking"}));
    }
  }
}

}  // namespace
}  // namespace slipway::launcher
