// When planned jobs would start, with helpers that stand for a Slurm that is slow, absent, full or refuses.

#include "launcher/run/batch/start_estimate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"
#include "launcher/cluster/slurm_client.h"
#include "launcher/cluster/slurm_messages.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Each;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;

const SlurmTime kNoon{seconds(1795694400)};  // 2026-11-26T12:00:00Z

BatchJob JobOf(const std::string& step, int nodes = 1) {
  BatchJob job;
  job.name = "flow." + step;
  job.comment = "slipway:flow/" + step;
  job.nodes = nodes;
  job.directory = "/runs/flow/steps/" + step;
  job.output = job.directory / "job.log";
  job.command = {"/bin/slipway", "workflow", "step", "/runs/flow", step};
  return job;
}

SlurmNode NodeWith(std::vector<std::string> flags) {
  SlurmNode node;
  node.name = "n1";
  node.state = "IDLE";
  node.flags = std::move(flags);
  return node;
}

class StartEstimates : public testing::Test {
 protected:
  StartEstimates() {
    WriteFile(directory_ / "slurm.conf", "ClusterName=c\n");
    SlurmPartition partition;
    partition.name = "debug";
    partition.is_default = true;
    partition.total_nodes = 4;
    Answer("partitions", AnswerLine(Json::array({ToJson(partition)})));
    Answer("nodes", AnswerLine(Json::array({ToJson(NodeWith({}))})));
    Answer("estimate", AnswerLine(ToJson(StartEstimate{kNoon, "n[1-2]", "debug", ""})));
    HelperDoes("cat answer.$ask");
  }

  void Answer(const std::string& ask, const std::string& line) const {
    WriteFile(directory_ / ("answer." + ask), line + "\n");
  }
  void Refuse(SlurmTrouble trouble, const std::string& words) const {
    Answer("estimate", AnswerLine(TroubleReport{trouble, 0, words, ""}));
  }

  /// The helper notes what it is asked, and then does this.
  void HelperDoes(const std::string& commands) const {
    const auto read = "ask=$(sed 's/.*\"ask\":\"\\([a-z]*\\)\".*/\\1/'); echo $ask >> asked\n";
    WriteFile(directory_ / "helper", "#!/bin/sh\ncd '" + directory_.path().string() + "'\n" + read + commands + "\n",
              0750);
  }

  std::vector<JobStart> Estimate(const std::vector<BatchJob>& jobs, milliseconds patience = seconds(20)) const {
    SlurmClientOptions slurm;
    slurm.helper = directory_ / "helper";
    slurm.environment.Set("SLURM_CONF", (directory_ / "slurm.conf").string());
    return EstimateStarts(jobs, slurm, patience);
  }
  JobStart EstimateOne(const BatchJob& job) const { return Estimate({job}).front(); }

  std::string Asked() const { return ReadFileIfPresent(directory_ / "asked").value_or(""); }

  test::TempDirectory directory_;
};

TEST_F(StartEstimates, AreSlurmsOwn) {
  const auto start = EstimateOne(JobOf("train"));
  EXPECT_EQ(start.outlook, StartOutlook::kEstimated);
  EXPECT_EQ(start.time, kNoon);
  EXPECT_EQ(ToJson(start), Json({{"outlook", "estimated"},
                                 {"time", "2026-11-26T12:00:00.000Z"},
                                 {"nodes", "n[1-2]"},
                                 {"partition", "debug"},
                                 {"reason", ""},
                                 {"next_step", ""}}));
}

TEST_F(StartEstimates, AreNotInventedForJobsThatWaitForOthers) {
  auto job = JobOf("train");
  job.dependency = "afterok:job-of-prepare";
  const auto start = EstimateOne(job);
  EXPECT_EQ(start.outlook, StartOutlook::kDependent);
  EXPECT_EQ(start.time, std::nullopt);
  Refuse(SlurmTrouble::kAccount, "Invalid account");
  EXPECT_EQ(EstimateOne(job).outlook, StartOutlook::kRefused) << "which is found before the submission";
  Answer("partitions", AnswerLine(TroubleReport{SlurmTrouble::kController, 1800, "connect failure", ""}));
  EXPECT_EQ(EstimateOne(job).outlook, StartOutlook::kDependent);
}

TEST_F(StartEstimates, AreAskedForOnceForJobsOfOneKind) {
  const auto starts = Estimate({JobOf("train.0"), JobOf("train.1"), JobOf("large", 4), JobOf("train.2")});
  EXPECT_THAT(starts, Each(Field(&JobStart::time, kNoon)));
  EXPECT_EQ(Asked(), "partitions\nestimate\nestimate\n");
}

TEST_F(StartEstimates, AreNotAskedForWithoutAConfiguration) {
  RemoveTree(directory_ / "slurm.conf");
  const auto start = EstimateOne(JobOf("train"));
  EXPECT_EQ(start.outlook, StartOutlook::kUnknown);
  EXPECT_THAT(start.reason, HasSubstr("SLURM_CONF names"));
  EXPECT_EQ(Asked(), "");
}

TEST_F(StartEstimates, AreMissingWhenTheControllerIsAbsent) {
  Answer("partitions", AnswerLine(TroubleReport{SlurmTrouble::kController, 1800, "connect failure", ""}));
  const auto starts = Estimate({JobOf("a"), JobOf("b", 2)});
  EXPECT_THAT(starts, Each(Field(&JobStart::outlook, StartOutlook::kUnknown)));
  EXPECT_THAT(starts, Each(Field(&JobStart::reason, HasSubstr("connect failure"))));
  EXPECT_THAT(starts, Each(Field(&JobStart::exit_code, 0)));
  EXPECT_EQ(Asked(), "partitions\n") << "the second job is not asked about";
}

TEST_F(StartEstimates, AreNotWaitedFor) {
  HelperDoes("[ $ask = estimate ] && exec sleep 600; cat answer.$ask");
  const auto began = SystemClock().Steady();
  const auto starts = Estimate({JobOf("a"), JobOf("b", 2)}, seconds(5));
  EXPECT_LT(SystemClock().Steady() - began, seconds(60));
  EXPECT_THAT(starts, Each(Field(&JobStart::reason, HasSubstr("Slurm has not answered in time"))));
  EXPECT_EQ(Asked(), "partitions\nestimate\n");
}

TEST_F(StartEstimates, AreMissingWhenTheHelperIs) {
  RemoveTree(directory_ / "helper");
  const auto start = EstimateOne(JobOf("a"));
  EXPECT_EQ(start.outlook, StartOutlook::kUnknown);
  EXPECT_THAT(start.reason, HasSubstr("helper"));
}

TEST_F(StartEstimates, QuoteWhatSlurmRefuses) {
  Refuse(SlurmTrouble::kAccount, "Invalid account or account/partition combination specified");
  auto job = JobOf("a");
  job.account = "alchemy";
  const auto start = EstimateOne(job);
  EXPECT_EQ(start.outlook, StartOutlook::kRefused);
  EXPECT_EQ(start.exit_code, 2);
  EXPECT_THAT(start.reason, HasSubstr("Invalid account or account/partition"));
  EXPECT_THAT(start.reason, HasSubstr("launch.slurm.account 'alchemy'"));
  EXPECT_THAT(start.next_step, HasSubstr("sacctmgr"));
  EXPECT_EQ(Asked(), "partitions\nestimate\n") << "nodes say nothing about accounts";
}

TEST_F(StartEstimates, SayWhichPartitionCannotTakeTheJob) {
  const auto large = EstimateOne(JobOf("a", 5));
  EXPECT_EQ(large.outlook, StartOutlook::kRefused);
  EXPECT_EQ(large.exit_code, 2);
  EXPECT_THAT(large.reason, HasSubstr("launch.nodes of 5"));
  auto job = JobOf("b");
  job.partition = "debgu";
  EXPECT_THAT(EstimateOne(job).reason, HasSubstr("did you mean 'debug'"));
  EXPECT_EQ(Asked(), "partitions\npartitions\n");
}

TEST_F(StartEstimates, ARefusalOfOneJobLeavesTheOthers) {
  const auto starts = Estimate({JobOf("a", 5), JobOf("b")});
  EXPECT_EQ(starts[0].outlook, StartOutlook::kRefused);
  EXPECT_EQ(starts[1].outlook, StartOutlook::kEstimated);
}

TEST_F(StartEstimates, DoNotTakeNodesThatAreDownForNodesThatDoNotExist) {
  Refuse(SlurmTrouble::kResources, "Requested node configuration is not available");
  EXPECT_EQ(EstimateOne(JobOf("a")).outlook, StartOutlook::kRefused);
  Answer("nodes", AnswerLine(Json::array({ToJson(NodeWith({"DRAIN"}))})));
  const auto start = EstimateOne(JobOf("a"));
  EXPECT_EQ(start.outlook, StartOutlook::kUnknown);
  EXPECT_EQ(start.exit_code, 0);
  EXPECT_THAT(start.reason, HasSubstr("1 of the cluster's nodes is down or drained"));
  HelperDoes("[ $ask = nodes ] && exit 1; cat answer.$ask");
  EXPECT_EQ(EstimateOne(JobOf("a")).outlook, StartOutlook::kUnknown);
}

TEST_F(StartEstimates, KnowNoTimeForAJobThatWouldWait) {
  Answer("estimate", AnswerLine(ToJson(StartEstimate{{}, "", "", "Requested nodes are busy"})));
  const auto start = EstimateOne(JobOf("a"));
  EXPECT_EQ(start.outlook, StartOutlook::kUnknown);
  EXPECT_THAT(start.reason, HasSubstr("Requested nodes are busy"));
}

TEST(StartsInWords, NameTheTime) {
  const JobStart start{.outlook = StartOutlook::kEstimated, .time = kNoon};
  EXPECT_EQ(WhenInWords(start, kNoon), "now");
  EXPECT_EQ(WhenInWords(start, kNoon + seconds(60)), "now");
  EXPECT_EQ(WhenInWords(start, kNoon - seconds(3 * 3600)), "in 3h00m (2026-11-26 12:00 UTC)");
  EXPECT_EQ(WhenInWords({}, kNoon), "no estimate");
  EXPECT_EQ(WhenInWords({.outlook = StartOutlook::kRefused}, kNoon), "refused");
}

}  // namespace
}  // namespace slipway::launcher
