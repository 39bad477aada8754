// What libslurm is asked for says the same as the script's directives, which it does not read.

#include "launcher/run/batch/submit_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

namespace slipway::launcher {
namespace {

using testing::ElementsAre;

BatchJob SomeJob() {
  BatchJob job;
  job.name = "small";
  job.comment = "slipway:small-1";
  job.nodes = 2;
  job.ranks_per_node = 4;
  job.cpus_per_rank = 3;
  job.gpus_per_rank = 2;
  job.memory_per_node = Bytes{3 * 1024 * 1024 + 1};
  job.time_limit_minutes = 90;
  job.signal_lead_s = 180;
  job.directory = "/runs/50%";
  job.output = "/runs/50%/manager.log";
  job.command = {"/bin/slipway", "manage", "/runs/50%"};
  return job;
}

TEST(SubmitRequest, AsksForTheNodesTasksAndMemory) {
  const auto request = RequestOf(SomeJob(), {"A=1"});
  EXPECT_EQ(request.nodes, 2);
  EXPECT_EQ(request.tasks, 8);
  EXPECT_EQ(request.tasks_per_node, 4);
  EXPECT_EQ(request.cpus_per_task, 3);
  EXPECT_EQ(request.gpus_per_node, "8");
  auto typed = SomeJob();
  typed.gpu_type = "a100";
  EXPECT_EQ(RequestOf(typed, {}).gpus_per_node, "a100:8");
  EXPECT_EQ(request.memory_per_node_mib, 4) << "rounded up";
  EXPECT_EQ(request.time_limit_minutes, 90);
  EXPECT_EQ(request.comment, "slipway:small-1");
  EXPECT_THAT(request.environment, ElementsAre("A=1"));
}

TEST(SubmitRequest, TellsAllMemoryFromNoWish) {
  auto job = SomeJob();
  job.memory_per_node = Bytes{0};
  EXPECT_EQ(RequestOf(job, {}).memory_per_node_mib, 0);
  job.memory_per_node.reset();
  EXPECT_EQ(RequestOf(job, {}).memory_per_node_mib, std::nullopt);
}

TEST(SubmitRequest, WarnsOfTheTimeLimitOnlyWhereThatIsWanted) {
  auto job = SomeJob();
  EXPECT_EQ(RequestOf(job, {}).warn_signal, SIGUSR1);
  EXPECT_EQ(RequestOf(job, {}).warn_seconds, 180);
  job.signal_lead_s = 0;
  EXPECT_EQ(RequestOf(job, {}).warn_signal, 0);
}

TEST(SubmitRequest, KeepsPathsAsTheyAre) {
  const auto request = RequestOf(SomeJob(), {});
  EXPECT_EQ(request.output, "/runs/50%%/manager.log") << "a file name pattern of Slurm";
  EXPECT_EQ(request.work_dir, "/runs/50%");
  EXPECT_EQ(request.script_path, "/runs/50%/job.sh");
  EXPECT_EQ(request.script, RenderBatchScript(SomeJob()));
}

TEST(LimitsOf, TakesListsOfAPartitionApart) {
  SlurmPartition partition;
  partition.name = "debug";
  partition.allow_accounts = "physics,chemistry";
  partition.state = PartitionState::kDrain;
  partition.max_time_minutes = 30;
  const auto limits = LimitsOf(partition);
  EXPECT_THAT(limits.allowed_accounts, ElementsAre("physics", "chemistry"));
  EXPECT_TRUE(limits.denied_accounts.empty());
  EXPECT_FALSE(limits.takes_jobs);
  EXPECT_EQ(limits.max_minutes, 30);
}

TEST(LimitsOf, APartitionThatIsDownTakesJobs) {
  const auto takes_jobs = [](PartitionState state) {
    SlurmPartition partition;
    partition.state = state;
    return LimitsOf(partition).takes_jobs;
  };
  EXPECT_TRUE(takes_jobs(PartitionState::kUp));
  EXPECT_TRUE(takes_jobs(PartitionState::kDown));
  EXPECT_FALSE(takes_jobs(PartitionState::kDrain));
  EXPECT_FALSE(takes_jobs(PartitionState::kInactive));
}

}  // namespace
}  // namespace slipway::launcher
