// Which refusals of Slurm concern one job, and not those that are queued.

#include "launcher/run/batch/job_limit.h"

#include <gtest/gtest.h>

namespace slipway::launcher {
namespace {

BatchJob Job() {
  BatchJob job;
  job.nodes = 2;
  job.ranks_per_node = 4;
  job.cpus_per_rank = 2;
  job.gpus_per_rank = 1;
  job.memory_per_node = Bytes{8'500'000'000};
  job.time_limit_minutes = 120;
  job.qos = "short";
  job.array = "0-9";
  return job;
}

/// A site that takes jobs up to these limits.
struct Site {
  int most_cores = 1000;
  int most_gpus = 1000;
  std::uint64_t most_memory = 1ull << 40;
  int most_minutes = 1000;
  int most_core_minutes = 1'000'000;
  int refusals_first = 0;  ///< as many jobs are refused whatever they are
  int tries = 0;

  WouldBeTaken Taken() {
    return [this](const BatchJob& job) {
      EXPECT_EQ(job.qos, "short");
      EXPECT_EQ(job.array, "0-9");
      if (tries++ < refusals_first) return false;
      const int cores = job.tasks() * job.cpus_per_rank;
      const int minutes = job.time_limit_minutes.value_or(60);
      return cores <= most_cores && job.tasks() * job.gpus_per_rank <= most_gpus &&
             job.memory_per_node.value_or(Bytes{}).count <= most_memory && minutes <= most_minutes &&
             cores * minutes <= most_core_minutes;
    };
  }
};

std::string TooMuchAt(Site site) { return WhatIsTooMuch(Job(), site.Taken()); }

TEST(JobLimit, NamesWhatNoJobMayHave) {
  EXPECT_EQ(TooMuchAt({.most_cores = 8}), "2 nodes with 16 cores");
  EXPECT_EQ(TooMuchAt({.most_gpus = 4}), "8 GPUs");
  EXPECT_EQ(TooMuchAt({.most_memory = 1ull << 30}), "8.50 GB of memory");
  EXPECT_EQ(TooMuchAt({.most_minutes = 60}), "a time limit of 2h00m");
  EXPECT_EQ(TooMuchAt({.most_cores = 8, .most_gpus = 4, .most_minutes = 60}),
            "2 nodes with 16 cores, and a time limit of 2h00m");
  EXPECT_EQ(TooMuchAt({.most_core_minutes = 1000}), "2 nodes with 16 cores for so long a time");
}

TEST(JobLimit, IsNoneWhereOtherJobsFillTheLimit) {
  Site full{.refusals_first = 100};
  EXPECT_EQ(WhatIsTooMuch(Job(), full.Taken()), "");
  EXPECT_EQ(full.tries, 1);
}

TEST(JobLimit, IsNoneWhereTheLimitHasPassedMeanwhile) { EXPECT_EQ(TooMuchAt({}), ""); }

/// The smallest job is refused again: between the tries others have filled the limit.
TEST(JobLimit, IsNoneWhereTheSiteChangesItsMind) {
  int tries = 0;
  EXPECT_EQ(WhatIsTooMuch(Job(), [&](const BatchJob&) { return tries++ == 0; }), "");
  EXPECT_EQ(tries, 3);
}

TEST(JobLimit, OfAJobWithoutATimeLimitIsThatOfThePartition) {
  auto job = Job();
  job.time_limit_minutes.reset();
  Site site{.most_minutes = 30};
  EXPECT_EQ(WhatIsTooMuch(job, site.Taken()), "the partition's default time limit");
}

JobTerms Of(const std::string& account, const std::string& qos = "") {
  JobTerms job;
  job.account = account;
  job.qos = qos;
  return job;
}

TEST(MostTasks, AreThoseOfTheAccount) {
  const SubmitLimits limits{{{"physics", 4}, {"history", 9}, {"free", {}}}, {{"normal", {}}}};
  EXPECT_EQ(MostTasks(limits, Of("physics")), 4);
  EXPECT_EQ(MostTasks(limits, Of("history")), 9);
  EXPECT_EQ(MostTasks(limits, Of("free")), std::nullopt);
  EXPECT_EQ(MostTasks(limits, Of("other")), std::nullopt);
  EXPECT_EQ(MostTasks(limits, Of("")), std::nullopt) << "the default account may be the one without a limit";
  EXPECT_EQ(MostTasks({{{"physics", 4}, {"history", 9}}, {}}, Of("")), 9);
  EXPECT_EQ(MostTasks({}, Of("physics")), std::nullopt);
}

TEST(MostTasks, AreThoseOfTheLargestQosThatMayReplaceThem) {
  const SubmitLimits limits{{{"physics", 4}}, {{"normal", {}}, {"high", 20}, {"low", 2}}};
  EXPECT_EQ(MostTasks(limits, Of("physics")), 20);
  EXPECT_EQ(MostTasks(limits, Of("physics", "low")), 20) << "the partition may have the QOS 'high'";
  const SubmitLimits of_qos{{{"physics", {}}}, {{"normal", {}}, {"low", 2}}};
  EXPECT_EQ(MostTasks(of_qos, Of("physics", "low")), 2);
  EXPECT_EQ(MostTasks(of_qos, Of("physics", "normal")), std::nullopt);
  EXPECT_EQ(MostTasks(of_qos, Of("physics")), std::nullopt);
}

}  // namespace
}  // namespace slipway::launcher
