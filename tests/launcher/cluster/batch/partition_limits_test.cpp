// What is said of a job that a partition cannot take.

#include "launcher/cluster/partition_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "core/error.h"
#include "launcher/cluster/slurm_trouble.h"

namespace slipway::launcher {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

PartitionLimits Debug() {
  PartitionLimits partition;
  partition.name = "debug";
  partition.is_default = true;
  partition.max_minutes = 30;
  partition.max_nodes = 2;
  partition.nodes = 8;
  partition.cpus_per_node = 16;
  partition.memory_per_node = Bytes{64'000'000'000};
  return partition;
}

PartitionLimits Regular() {
  PartitionLimits partition;
  partition.name = "regular";
  partition.max_minutes = 48 * 60;
  partition.min_nodes = 4;
  partition.allowed_accounts = {"physics", "history"};
  partition.denied_qos = {"debug"};
  return partition;
}

BatchJob JobWithinLimits() {
  BatchJob job;
  job.nodes = 2;
  job.ranks_per_node = 2;
  job.cpus_per_rank = 8;
  job.time_limit_minutes = 30;
  return job;
}

std::string LimitRefusalOf(const BatchJob& job) {
  try {
    RequireAPartition(job, {Debug(), Regular()});
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  return "no error";
}

TEST(PartitionLimits, TakesWhatFitsExactly) {
  EXPECT_THAT(CheckAgainstPartition(JobWithinLimits(), Debug()).refusals, IsEmpty());
}

TEST(PartitionLimits, KnowsNoLimitThatIsNotSaid) {
  auto job = JobWithinLimits();
  job.nodes = 5000;
  job.time_limit_minutes = 1'000'000;
  job.memory_per_node = Bytes{std::uint64_t{1} << 50};
  EXPECT_THAT(CheckAgainstPartition(job, {}).refusals, IsEmpty());
}

TEST(PartitionLimits, SaysEverythingAtOnce) {
  auto job = JobWithinLimits();
  job.nodes = 3;
  job.cpus_per_rank = 9;
  job.time_limit_minutes = 24 * 60;
  job.memory_per_node = Bytes{64'000'000'001};
  EXPECT_THAT(CheckAgainstPartition(job, Debug()).refusals,
              ElementsAre("launch.time_limit of 1d is longer than its limit of 30m",
                          "launch.nodes of 3 is more than the 2 of one job there",
                          "launch.ranks_per_node times launch.cpus_per_rank is 18, but a node has 16 CPUs",
                          HasSubstr("of memory on each node, but a node has")));
}

TEST(PartitionLimits, CountsItsNodesWhereOneJobMayHaveThemAll) {
  auto partition = Debug();
  partition.max_nodes.reset();
  auto job = JobWithinLimits();
  job.nodes = 9;
  EXPECT_THAT(CheckAgainstPartition(job, partition).refusals, ElementsAre("launch.nodes of 9, but it has 8 nodes"));
  partition.min_nodes = 10;
  job.nodes = 8;
  EXPECT_THAT(CheckAgainstPartition(job, partition).refusals,
              ElementsAre("launch.nodes of 8, but its jobs have at least 10 nodes"));
}

TEST(PartitionLimits, ReadsTimesAsPeopleWriteThem) {
  auto job = JobWithinLimits();
  job.time_limit_minutes = 90;
  EXPECT_THAT(CheckAgainstPartition(job, Debug()).refusals, ElementsAre(HasSubstr("of 1h30m is")));
  job.time_limit_minutes = 120;
  EXPECT_THAT(CheckAgainstPartition(job, Debug()).refusals, ElementsAre(HasSubstr("of 2h is")));
}

TEST(PartitionLimits, KnowsWhoMayUseIt) {
  auto job = JobWithinLimits();
  job.nodes = 4;
  EXPECT_THAT(CheckAgainstPartition(job, Regular()).refusals,
              IsEmpty());  // the user's own account: only Slurm knows it
  job.account = "phisics";
  EXPECT_THAT(CheckAgainstPartition(job, Regular()).refusals,
              ElementsAre(AllOf(HasSubstr("launch.slurm.account 'phisics'"), HasSubstr("did you mean 'physics'?"))));
  job.account = "physics";
  job.qos = "debug";
  EXPECT_THAT(CheckAgainstPartition(job, Regular()).refusals, ElementsAre("launch.slurm.qos 'debug' is refused there"));
}

TEST(PartitionLimits, KnowsWhatNeedsAReservation) {
  auto partition = Debug();
  partition.needs_reservation = true;
  EXPECT_THAT(CheckAgainstPartition(JobWithinLimits(), partition).refusals,
              ElementsAre(HasSubstr("launch.slurm.reservation")));
  auto job = JobWithinLimits();
  job.reservation = "training";
  EXPECT_TRUE(CheckAgainstPartition(job, partition).TakesIt());
}

TEST(PartitionLimits, TellsAPartitionThatIsClosedFromOneThatNeverTakesTheJob) {
  auto closed = Debug();
  closed.takes_jobs = false;
  EXPECT_TRUE(CheckAgainstPartition(JobWithinLimits(), closed).is_closed);
  EXPECT_THAT(CheckAgainstPartition(JobWithinLimits(), closed).refusals, IsEmpty());
  const auto trouble_of = [&](BatchJob job) -> std::optional<SlurmTrouble> {
    try {
      RequireAPartition(job, {closed, Regular()});
    } catch (const SlurmError& error) {
      EXPECT_THAT(error.what(), HasSubstr("'debug' is drained or inactive"));
      return error.trouble();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    }
    return {};
  };
  auto job = JobWithinLimits();
  EXPECT_EQ(trouble_of(job), SlurmTrouble::kClosed);
  job.partition = "debug,regular";
  EXPECT_EQ(trouble_of(job), SlurmTrouble::kClosed) << "the other one never takes so few nodes";
  job.nodes = 3;
  EXPECT_EQ(trouble_of(job), std::nullopt) << "neither takes it, whenever that is";
  job.nodes = 4;
  EXPECT_THAT(RequireAPartition(job, {closed, Regular()}), IsEmpty());
}

TEST(PartitionLimits, LeavesTheLimitsToSlurmWhereAQosMayLiftThem) {
  auto job = JobWithinLimits();
  job.nodes = 3;
  job.time_limit_minutes = 60;
  job.qos = "long";
  const auto found = CheckAgainstPartition(job, Debug());
  EXPECT_THAT(found.refusals, IsEmpty());
  EXPECT_THAT(found.doubts, ElementsAre("launch.time_limit of 1h is longer than its limit of 30m",
                                        "launch.nodes of 3 is more than the 2 of one job there"));
  EXPECT_THAT(RequireAPartition(job, {Debug(), Regular()}),
              ElementsAre(AllOf(HasSubstr("partition 'debug'"), HasSubstr("QOS 'long'"), HasSubstr("of 1h"))));
  job.partition = "debug,regular";
  EXPECT_EQ(RequireAPartition(job, {Debug(), Regular()}).size(), 2u);
  job.nodes = 4;
  EXPECT_THAT(RequireAPartition(job, {Debug(), Regular()}), IsEmpty()) << "regular takes it without doubt";
  job.partition = "debug";
  job.nodes = 9;
  EXPECT_THAT(LimitRefusalOf(job), HasSubstr("launch.nodes of 9, but it has 8 nodes")) << "no QOS adds nodes";
}

TEST(PartitionLimits, LooksAtTheDefaultPartition) {
  EXPECT_EQ(LimitRefusalOf(JobWithinLimits()), "no error");
  auto job = JobWithinLimits();
  job.nodes = 4;
  EXPECT_THAT(LimitRefusalOf(job), HasSubstr("partition 'debug' cannot take this job: launch.nodes of 4"));
}

TEST(PartitionLimits, IsContentWithOneOfSeveral) {
  auto job = JobWithinLimits();
  job.nodes = 4;
  job.partition = "debug,regular";
  EXPECT_EQ(LimitRefusalOf(job), "no error");
  job.nodes = 3;
  EXPECT_THAT(LimitRefusalOf(job), AllOf(HasSubstr("partition 'debug'"), HasSubstr("partition 'regular'")));
}

TEST(PartitionLimits, NamesThePartitionsThatThereAre) {
  auto job = JobWithinLimits();
  job.partition = "regluar";
  EXPECT_THAT(LimitRefusalOf(job), AllOf(HasSubstr("there is no partition 'regluar'; did you mean 'regular'?"),
                                         HasSubstr("one of: debug, regular")));
  EXPECT_THROW(RequireAPartition(JobWithinLimits(), {Regular()}), Error);  // no default
  EXPECT_THROW(RequireAPartition(JobWithinLimits(), {}), Error);
}

}  // namespace
}  // namespace slipway::launcher
