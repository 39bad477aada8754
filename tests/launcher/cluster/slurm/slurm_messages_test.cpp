// What launcher, helper and module say to each other.

#include "launcher/cluster/slurm_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace slipway::launcher {
namespace {

using testing::HasSubstr;

template <class Struct>
Struct ThereAndBack(const Struct& value) {
  Struct back;
  FromJson(Json::parse(ToJson(value).dump()), back);
  return back;
}

/// Every member of a document differs from that of an empty one, so that a field which is not carried is noticed.
void ExpectAllSet(const Json& document, const Json& empty) {
  for (const auto& [name, value] : document.items()) EXPECT_NE(value, empty.at(name)) << name;
}

SubmitRequest FullRequest() {
  SubmitRequest request;
  request.name = "name";
  request.script = "#!/bin/sh\n";
  request.script_path = "/x/job.sh";
  request.environment = {"A=1", "B=two words"};
  request.work_dir = "/x";
  request.output = "/x/out";
  request.user = 12;
  request.group = 13;
  request.nodes = 2;
  request.tasks = 8;
  request.tasks_per_node = 4;
  request.cpus_per_task = 3;
  request.threads_per_core = 1;
  request.gpus_per_node = "a100:2";
  request.gpus_per_task = "1";
  request.memory_per_node_mib = 5'000'000'000;
  request.memory_per_cpu_mib = 7;
  request.time_limit_minutes = 90;
  request.partition = "debug";
  request.account = "physics";
  request.qos = "high";
  request.constraint = "left";
  request.reservation = "school";
  request.licenses = "software:1";
  request.dependency = "afterok:3";
  request.burst_buffer = "#DW jobdw";
  request.comment = "slipway 1";
  request.array = "0-9";
  request.exclude_nodes = "n3";
  request.warn_signal = 10;
  request.warn_seconds = 120;
  request.requeue = false;
  request.exclusive = request.no_kill = request.hold = request.cancel_on_impossible_dependency = true;
  return request;
}

SlurmJob FullJob() {
  SlurmJob job;
  job.id = 7;
  job.cluster = "alpha";
  job.array_job = 6;
  job.array_tasks = "1";
  job.name = "name";
  job.user = 1000;
  job.partition = "debug";
  job.account = "physics";
  job.qos = "high";
  job.state = JobState::kOutOfMemory;
  job.flags = {JobFlag::kCompleting, JobFlag::kStageOut};
  job.reason = "BurstBufferOperation";
  job.reason_text = "dws_data_in: no such file";
  job.exit_code = 3;
  job.signal = 9;
  job.nodes = {"n1", "n2"};
  job.batch_host = "n1";
  job.restarts = 2;
  job.priority = 4294901759;
  job.time_limit_minutes = 10;
  job.submitted = SlurmTime(std::chrono::seconds(1795319208));
  job.start = SlurmTime(std::chrono::seconds(1795319209));
  job.end = SlurmTime(std::chrono::seconds(1795319210));
  job.requeue = true;
  job.preempted = true;
  job.comment = "c";
  job.system_comment = "s";
  job.admin_comment = "a";
  job.work_dir = "/x";
  job.output = "/x/out";
  job.dependency = "afterok:3";
  job.burst_buffer = "#DW";
  job.burst_buffer_state = "staging-in";
  return job;
}

TEST(SlurmMessages, CarryARequestWhole) {
  EXPECT_EQ(ThereAndBack(FullRequest()), FullRequest());
  EXPECT_EQ(ThereAndBack(SubmitRequest()), SubmitRequest());
  ExpectAllSet(ToJson(FullRequest()), ToJson(SubmitRequest()));
}

TEST(SlurmMessages, CarryAJobWhole) {
  EXPECT_EQ(ThereAndBack(FullJob()), FullJob());
  EXPECT_EQ(ThereAndBack(SlurmJob()), SlurmJob());
  ExpectAllSet(ToJson(FullJob()), ToJson(SlurmJob()));
}

TEST(SlurmMessages, CarryLimitsWhole) {
  const SubmitLimits limits{{{"physics", 4'000'000'000}, {"free", {}}}, {{"high", 20}}};
  EXPECT_EQ(ThereAndBack(limits), limits);
  EXPECT_EQ(ThereAndBack(SubmitLimits()), SubmitLimits());
  ExpectAllSet(ToJson(limits), ToJson(SubmitLimits()));
}

TEST(SlurmMessages, CarryAnIdentityWhole) {
  const JobIdentity job{12, "alpha", "slipway:a", "/runs/a", 1000, 3};
  EXPECT_EQ(ThereAndBack(job), job);
  EXPECT_EQ(ThereAndBack(JobIdentity()), JobIdentity());
  ExpectAllSet(ToJson(job), ToJson(JobIdentity()));
}

TEST(SlurmMessages, CarryEveryStateAndFlag) {
  SlurmJob job;
  job.flags = AllOf<JobFlag>();
  for (const auto state : AllOf<JobState>()) {
    job.state = state;
    EXPECT_EQ(ThereAndBack(job), job);
  }
}

TEST(SlurmMessages, CarryTheCluster) {
  const SlurmPartition partition{
      "debug", true, PartitionState::kDrain, 60, 10, 4, 2, 8, 64, 16, "n[1-8]", "a", "b", "c", "d", "e", true, true};
  EXPECT_EQ(ThereAndBack(partition), partition);
  ExpectAllSet(ToJson(partition), ToJson(SlurmPartition()));
  const SlurmNode node{"n1", "DOWN", {"DRAIN"}, "broken", 8, 4, 4096, "left", "gpu:2", "10.0.0.1"};
  EXPECT_EQ(ThereAndBack(node), node);
  ExpectAllSet(ToJson(node), ToJson(SlurmNode()));
  const SlurmCluster cluster{"c",
                             "22.05.8",
                             "22.05.8",
                             "burst_buffer/lua",
                             "bf_interval=1",
                             "slurmdbd",
                             "pmix",
                             "p",
                             300,
                             10,
                             30,
                             1001,
                             10000,
                             true,
                             true,
                             true};
  EXPECT_EQ(ThereAndBack(cluster), cluster);
  ExpectAllSet(ToJson(cluster), ToJson(SlurmCluster()));
  const Submission submission{12, "welcome", "odd"};
  EXPECT_EQ(ThereAndBack(submission), submission);
}

TEST(SlurmMessages, CarryAnEstimateWhole) {
  const StartEstimate estimate{SlurmTime(std::chrono::seconds(1795319208)), "n[1-2]", "debug", "busy"};
  EXPECT_EQ(ThereAndBack(estimate), estimate);
  EXPECT_EQ(ThereAndBack(StartEstimate()), StartEstimate());
  ExpectAllSet(ToJson(estimate), ToJson(StartEstimate()));
}

TEST(SlurmMessages, NameTheFieldThatIsWrong) {
  for (const auto& [field, value] : std::vector<std::pair<std::string, Json>>{
           {"id", "seven"}, {"state", "DREAMING"}, {"flags", {"NONE"}}, {"nodes", 3}, {"start", "now"}}) {
    auto document = ToJson(FullJob());
    document[field] = value;
    SlurmJob job;
    try {
      FromJson(document, job);
      ADD_FAILURE() << field;
    } catch (const Error& error) {
      EXPECT_THAT(error.message(), HasSubstr("'" + field));
    }
    document.erase(field);
    EXPECT_THROW(FromJson(document, job), Error);
  }
}

TEST(SlurmMessages, FindTheAnswerBehindBanners) {
  const auto line = AnswerLine(Json{{"job", 3}});
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(AnswerIn(line).result, Json({{"job", 3}}));
  EXPECT_EQ(AnswerIn("Welcome to the cluster!\n{}\n\n" + line + "\n\n").result, Json({{"job", 3}}));
}

TEST(SlurmMessages, SayWhoseAnswerItIs) {
  EXPECT_EQ(AnswerIn(AnswerLine(Json::object(), "alpha")).cluster, "alpha");
  EXPECT_EQ(AnswerIn(AnswerLine(Json::object())).cluster, "");
}

TEST(SlurmMessages, ThrowTheErrorThatWasAnswered) {
  const TroubleReport report{SlurmTrouble::kQos, 2066, "Invalid qos", "submitting job 'x'"};
  try {
    AnswerIn(AnswerLine(report));
    ADD_FAILURE();
  } catch (const SlurmError& error) {
    EXPECT_EQ(error.report(), report);
    EXPECT_EQ(error.exit_code(), 2);
    EXPECT_THAT(error.what(), HasSubstr("Slurm refuses the QOS: Invalid qos"));
    EXPECT_THAT(error.what(), HasSubstr("while submitting job 'x'"));
  }
}

class NoAnswer : public testing::TestWithParam<std::string> {};

void ExpectErrorOfTheHelper(const std::string& answer) {
  try {
    AnswerIn(answer);
    ADD_FAILURE();
  } catch (const SlurmError& error) {
    EXPECT_EQ(error.trouble(), SlurmTrouble::kHelper);
  }
}

TEST_P(NoAnswer, IsAnErrorOfTheHelper) { ExpectErrorOfTheHelper(GetParam()); }

// Not in the table: CMake cannot hold a test whose name has brackets in a list.
TEST(SlurmMessages, AListIsNoAnswer) { ExpectErrorOfTheHelper("[]"); }

INSTANTIATE_TEST_SUITE_P(Table, NoAnswer,
                         testing::Values("", "\n\n", "garbage", "{", "null", "{}", R"({"result":{}})",
                                         R"({"schema":3,"result":{}})",
                                         R"({"schema":"slipway.slurm-answer/2","result":{}})",
                                         R"({"schema":"slipway.slurm-answer/1"})", std::string("\0\xff", 2)));

TEST(SlurmMessages, SurviveTextsInOtherEncodings) {
  const auto line = AnswerLine(Json{{"comment", "caf\xe9"}});
  EXPECT_EQ(AnswerIn(line).result.at("comment"), "caf\uFFFD");
}

TEST(SlurmTroubles, AreFoundByTheirNames) {
  for (const auto trouble : AllOf<SlurmTrouble>()) {
    EXPECT_EQ(FromWord<SlurmTrouble>(WordOf(trouble)), trouble);
    const SlurmError error({trouble, 0, "because", ""});
    EXPECT_THAT(error.message(), testing::EndsWith(": because"));
    EXPECT_EQ(error.next_step().empty(), trouble == SlurmTrouble::kOver) << WordOf(trouble);
  }
  EXPECT_EQ(FromWord<SlurmTrouble>("none"), std::nullopt);
  EXPECT_EQ(SlurmError({SlurmTrouble::kJobLimit, 0, "", ""}, "pack the steps").next_step(), "pack the steps");
}

TEST(SlurmTroubles, StandInErrorDocuments) {
  Json document;
  SlurmError({SlurmTrouble::kPartition, 2000, "", ""}).AddToDocument(document);
  EXPECT_EQ(document.at("slurm"), Json({{"trouble", "partition"}, {"code", 2000}}));
}

}  // namespace
}  // namespace slipway::launcher
