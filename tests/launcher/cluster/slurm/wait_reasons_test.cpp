// Every reason that Slurm 22.05 gives, in words.

#include "launcher/cluster/wait_reasons.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace slipway::launcher {
namespace {

using testing::HasSubstr;

/// What job_reason_string of Slurm 22.05 returns for all codes, but for those of machines that are gone.
constexpr std::string_view kAll[] = {
    "None",
    "Priority",
    "Dependency",
    "Resources",
    "PartitionNodeLimit",
    "PartitionTimeLimit",
    "PartitionDown",
    "PartitionInactive",
    "JobHeldAdmin",
    "BeginTime",
    "Licenses",
    "AssociationJobLimit",
    "AssociationResourceLimit",
    "AssociationTimeLimit",
    "Reservation",
    "ReqNodeNotAvail",
    "JobHeldUser",
    "FrontEndDown",
    "SchedDefer",
    "NodeDown",
    "BadConstraints",
    "SystemFailure",
    "JobLaunchFailure",
    "NonZeroExitCode",
    "TimeLimit",
    "InactiveLimit",
    "InvalidAccount",
    "InvalidQOS",
    "QOSUsageThreshold",
    "QOSJobLimit",
    "QOSResourceLimit",
    "QOSTimeLimit",
    "Cleaning",
    "Prolog",
    "QOSNotAllowed",
    "AccountNotAllowed",
    "DependencyNeverSatisfied",
    "QOSGrpCpuLimit",
    "QOSGrpCPUMinutesLimit",
    "QOSGrpCPURunMinutesLimit",
    "QOSGrpJobsLimit",
    "QOSGrpMemLimit",
    "QOSGrpNodeLimit",
    "QOSGrpSubmitJobsLimit",
    "QOSGrpWallLimit",
    "QOSMaxCpuPerJobLimit",
    "QOSMaxCpuMinutesPerJobLimit",
    "QOSMaxNodePerJobLimit",
    "QOSMaxWallDurationPerJobLimit",
    "QOSMaxCpuPerUserLimit",
    "QOSMaxJobsPerUserLimit",
    "QOSMaxNodePerUserLimit",
    "QOSMaxSubmitJobPerUserLimit",
    "QOSMinCpuNotSatisfied",
    "AssocGrpCpuLimit",
    "AssocGrpCPUMinutesLimit",
    "AssocGrpCPURunMinutesLimit",
    "AssocGrpJobsLimit",
    "AssocGrpMemLimit",
    "AssocGrpNodeLimit",
    "AssocGrpSubmitJobsLimit",
    "AssocGrpWallLimit",
    "AssocMaxJobsLimit",
    "AssocMaxCpuPerJobLimit",
    "AssocMaxCpuMinutesPerJobLimit",
    "AssocMaxNodePerJobLimit",
    "AssocMaxWallDurationPerJobLimit",
    "AssocMaxSubmitJobLimit",
    "JobHoldMaxRequeue",
    "JobArrayTaskLimit",
    "BurstBufferResources",
    "BurstBufferStageIn",
    "BurstBufferOperation",
    "PowerNotAvail",
    "PowerReserved",
    "AssocGrpUnknown",
    "AssocGrpUnknownMinutes",
    "AssocGrpUnknownRunMinutes",
    "AssocMaxUnknownPerJob",
    "AssocMaxUnknownPerNode",
    "AssocMaxUnknownMinutesPerJob",
    "AssocMaxCpuPerNode",
    "AssocGrpMemMinutes",
    "AssocGrpMemRunMinutes",
    "AssocMaxMemPerJob",
    "AssocMaxMemPerNode",
    "AssocMaxMemMinutesPerJob",
    "AssocGrpNodeMinutes",
    "AssocGrpNodeRunMinutes",
    "AssocMaxNodeMinutesPerJob",
    "AssocGrpEnergy",
    "AssocGrpEnergyMinutes",
    "AssocGrpEnergyRunMinutes",
    "AssocMaxEnergyPerJob",
    "AssocMaxEnergyPerNode",
    "AssocMaxEnergyMinutesPerJob",
    "AssocGrpGRES",
    "AssocGrpGRESMinutes",
    "AssocGrpGRESRunMinutes",
    "AssocMaxGRESPerJob",
    "AssocMaxGRESPerNode",
    "AssocMaxGRESMinutesPerJob",
    "AssocGrpLicense",
    "AssocGrpLicenseMinutes",
    "AssocGrpLicenseRunMinutes",
    "AssocMaxLicensePerJob",
    "AssocMaxLicenseMinutesPerJob",
    "AssocGrpBB",
    "AssocGrpBBMinutes",
    "AssocGrpBBRunMinutes",
    "AssocMaxBBPerJob",
    "AssocMaxBBPerNode",
    "AssocMaxBBMinutesPerJob",
    "QOSGrpUnknown",
    "QOSGrpUnknownMinutes",
    "QOSGrpUnknownRunMinutes",
    "QOSMaxUnknownPerJob",
    "QOSMaxUnknownPerNode",
    "QOSMaxUnknownPerUser",
    "QOSMaxUnknownMinutesPerJob",
    "QOSMinUnknown",
    "QOSMaxCpuPerNode",
    "QOSGrpMemoryMinutes",
    "QOSGrpMemoryRunMinutes",
    "QOSMaxMemoryMinutesPerJob",
    "QOSMaxMemoryPerJob",
    "QOSMaxMemoryPerNode",
    "QOSMaxMemoryPerUser",
    "QOSMinMemory",
    "QOSGrpEnergy",
    "QOSGrpEnergyMinutes",
    "QOSGrpEnergyRunMinutes",
    "QOSMaxEnergyPerJob",
    "QOSMaxEnergyPerNode",
    "QOSMaxEnergyPerUser",
    "QOSMaxEnergyMinutesPerJob",
    "QOSMinEnergy",
    "QOSGrpNodeMinutes",
    "QOSGrpNodeRunMinutes",
    "QOSMaxNodeMinutesPerJob",
    "QOSMinNode",
    "QOSGrpGRES",
    "QOSGrpGRESMinutes",
    "QOSGrpGRESRunMinutes",
    "QOSMaxGRESPerJob",
    "QOSMaxGRESPerNode",
    "QOSMaxGRESPerUser",
    "QOSMaxGRESMinutesPerJob",
    "QOSMinGRES",
    "QOSGrpLicense",
    "QOSGrpLicenseMinutes",
    "QOSGrpLicenseRunMinutes",
    "QOSMaxLicensePerJob",
    "QOSMaxLicensePerUser",
    "QOSMaxLicenseMinutesPerJob",
    "QOSMinLicense",
    "QOSGrpBB",
    "QOSGrpBBMinutes",
    "QOSGrpBBRunMinutes",
    "QOSMaxBBPerJob",
    "QOSMaxBBPerNode",
    "QOSMaxBBPerUser",
    "QOSMinBB",
    "DeadLine",
    "MaxBBPerAccount",
    "MaxCpuPerAccount",
    "MaxEnergyPerAccount",
    "MaxGRESPerAccount",
    "MaxNodePerAccount",
    "MaxLicensePerAccount",
    "MaxMemoryPerAccount",
    "MaxUnknownPerAccount",
    "MaxJobsPerAccount",
    "MaxSubmitJobsPerAccount",
    "PartitionConfig",
    "AccountingPolicy",
    "FedJobLock",
    "OutOfMemory",
    "MaxMemPerLimit",
    "AssocGrpBilling",
    "AssocGrpBillingMinutes",
    "AssocGrpBillingRunMinutes",
    "AssocMaxBillingPerJob",
    "AssocMaxBillingPerNode",
    "AssocMaxBillingMinutesPerJob",
    "QOSGrpBilling",
    "QOSGrpBillingMinutes",
    "QOSGrpBillingRunMinutes",
    "QOSMaxBillingPerJob",
    "QOSMaxBillingPerNode",
    "QOSMaxBillingPerUser",
    "QOSMaxBillingMinutesPerJob",
    "MaxBillingPerAccount",
    "QOSMinBilling",
    "ReservationDeleted",
};

SlurmJob JobThatWaits(std::string_view reason) {
  SlurmJob job;
  job.id = 12;
  job.reason = reason;
  return job;
}

ReasonInWords Explained(std::string_view reason) { return ExplainWait(JobThatWaits(reason)); }

TEST(WaitReasons, NameTheJobInCommands) {
  EXPECT_EQ(Explained("JobHeldUser").next_step, "scontrol release 12 lets it go");
  for (const auto reason : kAll) EXPECT_THAT(Explained(reason).next_step, testing::Not(HasSubstr("{"))) << reason;
  EXPECT_THAT(Explained("JobHoldMaxRequeue").next_step, HasSubstr("scontrol release 12"));
}

TEST(WaitReasons, AreDescribedWithTheStartUnlessTheJobIsHeld) {
  auto job = JobThatWaits("Priority");
  job.priority = 7;
  EXPECT_EQ(DescribeWait(job, "12_3", {"a", ""}), "job 12_3 waits: a");
  job.start = SlurmTime(std::chrono::seconds(3600));
  EXPECT_EQ(DescribeWait(job, "12_3", {"a", "b"}), "job 12_3 waits: a; b (expected to start 1970-01-01T01:00:00.000Z)");
  job.priority = 0;
  EXPECT_EQ(DescribeWait(job, "12_3", {"a", "b"}), "job 12_3 waits: a; b");
}

TEST(WaitReasons, AreAllExplained) {
  for (const auto reason : kAll) {
    const auto words = Explained(reason);
    EXPECT_THAT(words.sentence, testing::Not(HasSubstr("Slurm's reason is"))) << reason;
    EXPECT_GT(words.sentence.size(), 15u) << reason;
    EXPECT_NE(words.sentence.back(), '.') << reason;
  }
}

struct Example {
  std::string_view reason, sentence, next_step;
};

class WaitReason : public testing::TestWithParam<Example> {};

TEST_P(WaitReason, IsSaidInOneSentenceWithWhatToDo) {
  const auto words = Explained(GetParam().reason);
  EXPECT_EQ(words.sentence, GetParam().sentence);
  EXPECT_THAT(words.next_step, HasSubstr(std::string(GetParam().next_step)));
}

INSTANTIATE_TEST_SUITE_P(
    Table, WaitReason,
    testing::Values(
        Example{"Priority", "jobs with a higher priority are ahead of it in the queue", "wait"},
        Example{"Resources", "it is the next one, and waits until enough nodes are free", "fewer nodes"},
        Example{"PartitionTimeLimit", "its time limit is longer than the partition allows", "launch.time_limit"},
        Example{"BurstBufferStageIn", "its data is being copied into the burst buffer", ""},
        Example{"AssocGrpCpuLimit", "its account already has as much as it allows: CPUs", "wait for those jobs"},
        Example{"AssocGrpCPUMinutesLimit", "its account already has as much as it allows: CPUs times minutes",
                "ask for a larger budget"},
        Example{"AssocGrpCPURunMinutesLimit",
                "its account already has as much as it allows: CPUs times minutes of the jobs that run", "wait"},
        Example{"AssocMaxWallDurationPerJobLimit", "it asks for more run time than its account allows for one job",
                "sacctmgr show associations"},
        Example{"QOSMaxJobsPerUserLimit", "its QOS already has as much as it allows for one user: running jobs",
                "sacctmgr show qos"},
        Example{"QOSMaxSubmitJobPerUserLimit",
                "its QOS already has as much as it allows for one user: jobs in the queue", "wait"},
        Example{"QOSMaxGRESPerNode", "it asks for more GPUs and other devices than its QOS allows on one node",
                "change what is asked for"},
        Example{"QOSMinCpuNotSatisfied", "it asks for less CPUs than its QOS wants of each job",
                "change what is asked for"},
        Example{"MaxMemoryPerAccount", "its QOS already has as much as it allows for one account: memory", "wait"}));

TEST(WaitReasons, OfLaterVersionsAreShownAsTheyAre) {
  for (const std::string reason : {"MoonIsFull", "", "AssocGrp", "AssocGrpMoons", "QOSMaxCpuPerMoon", "Max", "212"}) {
    EXPECT_EQ(Explained(reason).sentence, "Slurm's reason is '" + reason + "'");
  }
}

}  // namespace
}  // namespace slipway::launcher
