// What is found of the jobs of a workflow before they are submitted, with a helper that answers as Slurm does.

#include "launcher/run/workflow/step_submission.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "core/files.h"
#include "launcher/cluster/slurm_messages.h"
#include "tests/launcher/workflow/workflow_of.h"

namespace slipway::launcher {
namespace {

using testing::StartsWith;

/// Jobs of a partition that allows five minutes.
class JobsToSubmit : public testing::Test {
 protected:
  JobsToSubmit() {
    partition_.name = "debug";
    partition_.is_default = true;
    partition_.total_nodes = 4;
    partition_.max_time_minutes = 5;
    const auto answer = (place_ / "answer").string();
    WriteFile(place_ / "slurm.conf", "ClusterName=c\n");
    WriteFile(place_ / "helper", "#!/bin/sh\ncat >/dev/null; cat '" + answer + "'\n", 0750);
  }

  std::string Doubt(const std::string& steps) const {
    WriteFile(place_ / "answer", AnswerLine(Json::array({ToJson(partition_)})) + "\n");
    SlurmClientOptions slurm;
    slurm.helper = place_ / "helper";
    slurm.environment.Set("SLURM_CONF", (place_ / "slurm.conf").string());
    return RequireStepJobs(test::WorkflowOf(place_, steps), place_ / "runs", slurm);
  }

  test::TempDirectory place_;
  SlurmPartition partition_;
};

constexpr auto kSteps =
    "  short: {command: [x], time_limit: 1m}\n"
    "  long: {command: [x], time_limit: 20m, slurm: {qos: night}}\n"
    "  other: {command: [x], time_limit: 30m, slurm: {qos: night}, after: [long]}\n";

TEST_F(JobsToSubmit, AreDoubtedOnceForAWorkflow) {
  const auto doubt = Doubt(kSteps);
  EXPECT_THAT(doubt,
              StartsWith("in step 'long': partition 'debug' takes this job only if QOS 'night' lifts its limits: "
                         "launch.time_limit of 21m is longer than its limit of 5m"));
  EXPECT_TRUE(doubt.ends_with("; 1 more job exceeds such limits")) << doubt;
}

TEST_F(JobsToSubmit, AreNotDoubtedWithinTheLimits) {
  partition_.max_time_minutes = 60;
  EXPECT_EQ(Doubt(kSteps), "");
}

TEST_F(JobsToSubmit, AreRefusedByAClosedPartition) {
  partition_.state = PartitionState::kDrain;
  partition_.max_time_minutes = 60;
  try {
    Doubt(kSteps);
    FAIL();
  } catch (const SlurmError& error) {
    EXPECT_EQ(error.trouble(), SlurmTrouble::kClosed);
  }
}

}  // namespace
}  // namespace slipway::launcher
