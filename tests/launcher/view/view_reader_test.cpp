// A run folder as its reports see it: growing, broken, foreign.

#include "launcher/view/view_reader.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "core/error.h"
#include "core/files.h"
#include "launcher/cli/commands/metrics_progress.h"
#include "tests/support/grown_run.h"
#include "tests/support/kept_output.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

using testing::HasSubstr;

class RunViews : public testing::Test {
 protected:
  void Append(const std::string& file, const std::string& text) const { test::AppendTo(folder_, file, text); }
  void Enter(Phase phase, int attempt) const { test::EnterPhase(folder_, phase, attempt); }

  test::TempDirectory directory_;
  const RunFolder folder_ = RunFolder::Create(directory_.path(), "small", false);
};

TEST_F(RunViews, FollowMetricsAsTheyGrow) {
  Enter(Phase::kQueued, 1);
  ViewReader reader(folder_);
  Append("attempt-1/metrics.jsonl", R"({"time":5,"step":1,"metrics":{"loss":2}})"
                                    "\n");
  EXPECT_EQ(reader.Read(Depth::kCurves).curves.at(0).count, 1u);
  Append("attempt-1/metrics.jsonl", R"({"time":6,"step":2,"metrics":{"loss":1)");
  EXPECT_EQ(reader.Read(Depth::kCurves).curves.at(0).count, 1u) << "the line is not whole";
  Append("attempt-1/metrics.jsonl", ",\"x<y\":3}}\nnonsense\n");
  const auto view = reader.Read(Depth::kCurves);
  ASSERT_EQ(view.curves.size(), 2u);
  EXPECT_EQ(view.curves[0].metric, "loss");
  EXPECT_THAT(view.curves[0].step, testing::ElementsAre(1, 2));
  EXPECT_EQ(view.progress->done, 2);
}

TEST_F(RunViews, ShowTheProgressOfTheLastAttempt) {
  Enter(Phase::kRunning, 1);
  Append("attempt-1/metrics.jsonl", R"({"time":5,"step":90,"metrics":{"loss":2}})"
                                    "\n");
  Enter(Phase::kRunning, 2);
  EXPECT_FALSE(ViewReader(folder_).Read(Depth::kCurves).progress) << "it has not reported a step";
  Append("attempt-2/metrics.jsonl", R"({"time":6,"step":41,"metrics":{"loss":1}})"
                                    "\n");
  const auto view = ViewReader(folder_).Read(Depth::kCurves);
  EXPECT_EQ(view.curves.size(), 2u);
  ASSERT_TRUE(view.progress);
  EXPECT_EQ(view.progress->done, 41);
}

TEST_F(RunViews, NumberMetricsWithoutAStepAndSayHowMuchIsRead) {
  Enter(Phase::kQueued, 1);
  Append("attempt-1/metrics.jsonl", "{\"metrics\":{\"loss\":2}}\n{\"metrics\":{\"loss\":1}}\n");
  test::KeptOutput output;
  MetricsProgress progress(output, folder_);
  const auto view = ViewReader(folder_, progress.OnRead()).Read(Depth::kCurves);
  EXPECT_THAT(view.curves.at(0).step, testing::ElementsAre(0, 1));
  EXPECT_THAT(output.progress, HasSubstr("reading " + folder_.id() + "  100%  46 B of 46 B"));
}

TEST_F(RunViews, LookForNoMoreRanksThanMachinesHave) {
  Enter(Phase::kRunning, 1);
  Append("plan.json", R"({"engine":"local","ranks":2000000000,"spec":{"launch":{"nodes":1}}})");
  const auto view = ViewReader(folder_).Read(Depth::kAnalysis);
  EXPECT_EQ(view.ranks, 1);
  EXPECT_THAT(view.warnings, testing::Contains(HasSubstr("plan.json could not be read")));
}

TEST_F(RunViews, CountTheGpusOfTheTrialsThatRunAtATime) {
  Append("events.jsonl", R"({"unix_time":100,"event":"running","attempt":1})"
                         "\n"
                         R"({"unix_time":3700,"event":"succeeded","attempt":1,"reason":""})"
                         "\n");
  Append("plan.json", R"({"engine":"local","ranks":1,"trials_at_a_time":2,
                          "spec":{"launch":{"nodes":1,"ranks_per_node":1,"cpus_per_rank":1,"gpus_per_rank":1},
                                  "ensemble":{"parallel":4}}})");
  const auto document = ToJson(ViewReader(folder_).Read(Depth::kAccounting));
  EXPECT_NEAR(document["accounting"]["gpu_hours"].get<double>(), 2, 1e-9);
}

TEST_F(RunViews, HaveTheGpusOfTheRun) {
  Enter(Phase::kRunning, 1);
  EXPECT_TRUE(ViewReader(folder_).Read(Depth::kGlance).gpus.empty());
  MeasuredGpu gpu;
  gpu.memory_peak_bytes = 7;
  gpu.mean_utilisation = 0.5;
  gpu.measured_s = 2;
  WriteGpuRecord(folder_.gpus_file(), {gpu});
  const auto view = ViewReader(folder_).Read(Depth::kAccounting);
  EXPECT_EQ(view.gpus.at(0).memory_peak_bytes, 7u);
  const auto document = ToJson(view);
  EXPECT_EQ(document["gpus"][0]["utilisation"], nullptr) << "what is not known is not zero";
  EXPECT_EQ(document["accounting"]["gpu_memory_peak_bytes"], 7);
  EXPECT_EQ(document["accounting"]["gpu_utilisation"], 0.5);
  WriteFile(folder_.gpus_file(), "{");
  EXPECT_THAT(ViewReader(folder_).Read(Depth::kGlance).warnings, testing::Contains("gpus.json could not be read"));
}

TEST_F(RunViews, TellAttemptsAndPhases) {
  Enter(Phase::kQueued, 1);
  Enter(Phase::kStaging, 1);
  folder_.AppendEvent("staged", Json{{"dataset", "train"}, {"tier", "ram"}, {"bytes", 7}, {"seconds", 0.5}});
  Enter(Phase::kRunning, 1);
  folder_.AppendEvent("restarting", Json{{"attempt", 1}, {"reason", "rank 1 failed"}});
  folder_.AppendEvent("running", Json{{"attempt", 2}, {"reason", ""}});
  folder_.AppendEvent("succeeded", Json{{"attempt", 2}, {"reason", ""}});
  const auto view = ViewReader(folder_).Read(Depth::kGlance);
  ASSERT_EQ(view.attempts.size(), 2u);
  EXPECT_EQ(view.attempts[0].reason, "rank 1 failed");
  EXPECT_TRUE(view.attempts[1].ended);
  ASSERT_EQ(view.datasets.size(), 1u);
  EXPECT_EQ(view.datasets[0].bytes, 7u);
  EXPECT_TRUE(view.phases.back().to);
}

TEST_F(RunViews, CountAManagerThatWasKilledUpToItsLastSign) {
  Append("events.jsonl", R"({"unix_time":100,"event":"running","attempt":1})"
                         "\n");
  Append("attempt-1/rank-00000.log", "working\n");
  const timespec times[] = {{150, 0}, {150, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, (folder_.attempt(1) / "rank-00000.log").c_str(), times, 0), 0);
  Append("events.jsonl", R"({"unix_time":1000,"event":"running","attempt":2})"
                         "\n");
  Append("events.jsonl", R"({"unix_time":1010,"event":"succeeded","attempt":2,"reason":""})"
                         "\n");
  const auto view = ViewReader(folder_).Read(Depth::kAccounting);
  ASSERT_EQ(view.attempts.size(), 2u);
  EXPECT_EQ(view.attempts[0].ended, 150);
  EXPECT_EQ(view.attempts[0].reason, "its manager was lost");
  EXPECT_EQ(view.attempts[1].reason, "");
  ASSERT_TRUE(view.accounting);
  EXPECT_DOUBLE_EQ(view.accounting->node_seconds, 50 + 10);
}

TEST_F(RunViews, EndAnAttemptWhoseJobIsRequeued) {
  Append("events.jsonl", R"({"unix_time":100,"event":"running","attempt":1})"
                         "\n");
  Append("events.jsonl", R"({"unix_time":160,"event":"queued","attempt":1,"reason":"preempted"})"
                         "\n");
  Append("events.jsonl", R"({"unix_time":900,"event":"running","attempt":2})"
                         "\n");
  Append("events.jsonl", R"({"unix_time":910,"event":"succeeded","attempt":2,"reason":""})"
                         "\n");
  const auto view = ViewReader(folder_).Read(Depth::kAccounting);
  ASSERT_EQ(view.attempts.size(), 2u);
  EXPECT_EQ(view.attempts[0].ended, 160);
  EXPECT_EQ(view.attempts[0].reason, "preempted");
  EXPECT_DOUBLE_EQ(view.accounting->node_seconds, 70);
  EXPECT_DOUBLE_EQ(view.accounting->queue_s, 740);
}

TEST_F(RunViews, LeaveEmptyTextsOutOfEvents) {
  Enter(Phase::kQueued, 1);
  Append("events.jsonl", R"({"unix_time":1,"event":"staged","reason":"","dataset":"train","tier":"","bytes":0})"
                         "\n");
  const auto view = ViewReader(folder_).Read(Depth::kGlance);
  ASSERT_EQ(view.events.size(), 2u);
  EXPECT_EQ(view.events[0].text, "");
  EXPECT_EQ(view.events[1].text, "dataset train, bytes 0");
}

TEST_F(RunViews, HoldTheResolvedSpecWithoutSecrets) {
  Enter(Phase::kQueued, 1);
  Append("plan.json", R"({"engine":"local","ranks":1,"spec":{"launch":{"nodes":1,"ranks_per_node":1,"cpus_per_rank":1,)"
                      R"("gpus_per_rank":0},"notify":[{"webhook":{"url":"https://chat.example/hooks/s3cret"}}]}})");
  const auto view = ViewReader(folder_).Read(Depth::kAnalysis);
  EXPECT_EQ(view.resolved.at("launch").at("nodes"), 1);
  EXPECT_EQ(view.resolved.dump().find("s3cret"), std::string::npos);
}

TEST_F(RunViews, KeepTheLastEventsOfMany) {
  std::string lines;
  for (int i = 0; i < 1500; ++i)
    lines += R"({"unix_time":1,"event":"warning","reason":"w"})"
             "\n";
  Append("events.jsonl", lines + "no event\n");
  const auto view = ViewReader(folder_).Read(Depth::kGlance);
  EXPECT_EQ(view.events.size(), 1000u);
  EXPECT_EQ(view.events_left_out, 500u);
  EXPECT_THAT(view.warnings, testing::Contains(HasSubstr("1 lines of events.jsonl")));
}

TEST_F(RunViews, SayHowGpuMemoryIsExchanged) {
  Enter(Phase::kQueued, 1);
  Append("attempt-1/comm.json", R"({"teams": [{"team": "net", "steps": 7, "way": "staged",)"
                                R"( "without_direct": "clip_norm is set", "mean_of_a_step": []}]})");
  const auto view = ViewReader(folder_).Read(Depth::kAnalysis);
  ASSERT_TRUE(view.steps.has_value()) << testing::PrintToString(view.warnings);
  EXPECT_EQ(view.steps->way, "staged");
  EXPECT_EQ(view.steps->without_direct, "clip_norm is set");
}

TEST_F(RunViews, ShowTheWholeAttemptWhereThereIsNoTeam) {
  Enter(Phase::kQueued, 1);
  Append(
      "attempt-1/comm.json",
      R"({"teams": [], "gpu_allreduce": [{"ranks": 2}, {"ranks": 2, "without_direct": "no kernel"}], "collectives": {)"
      R"("groups": [{"ranks": 2, "calls": [{"call": "slipway_barrier", "way": "cpu", "bytes": 0},)"
      R"( {"call": "slipway_allreduce", "way": "nccl", "bytes": 90}]}], "times_of_ranks": [)"
      R"({"elapsed_s": 10, "wait_s": 1, "exchange_s": 4, "input_s": 2}]}})");
  const auto view = ViewReader(folder_).Read(Depth::kAnalysis);
  ASSERT_TRUE(view.steps.has_value()) << testing::PrintToString(view.warnings);
  EXPECT_EQ(view.steps->team, "");
  EXPECT_EQ(view.steps->steps, 1u);
  EXPECT_EQ(view.steps->way, "nccl");
  EXPECT_EQ(view.steps->without_direct, "no kernel");
  ASSERT_EQ(view.steps->ranks.size(), 1u);
  EXPECT_DOUBLE_EQ(view.steps->ranks[0].step_s, 10);
  EXPECT_DOUBLE_EQ(view.steps->ranks[0].compute_s, 7);
  EXPECT_DOUBLE_EQ(view.steps->ranks[0].wait_s, 1);
  EXPECT_DOUBLE_EQ(view.steps->ranks[0].exchange_s, 4);
  EXPECT_DOUBLE_EQ(view.steps->ranks[0].input_s, 2);
  const auto shown = ToJson(view)["steps"];
  EXPECT_EQ(shown["collectives"]["groups"][0]["ranks"], 2);
  EXPECT_EQ(shown["gpu_allreduce"][1]["without_direct"], "no kernel");
}

TEST_F(RunViews, HaveNoStepsOfAnExchangeWithoutNumbers) {
  Enter(Phase::kQueued, 1);
  Append("attempt-1/comm.json", R"({"teams": []})");
  const auto view = ViewReader(folder_).Read(Depth::kAnalysis);
  EXPECT_FALSE(view.steps.has_value());
  EXPECT_THAT(view.warnings, testing::Not(testing::Contains(HasSubstr("comm.json"))));
}

TEST_F(RunViews, SurviveWhateverStandsInTheFolder) {
  Enter(Phase::kQueued, 1);
  Append("plan.json", "{\"engine\": 3}");
  Append("events.jsonl", "{\"event\": [1], \"unix_time\": \"x\", \"attempt\": 1e300}\n{\"event\":\"running\"}\n");
  Append("attempt-1/comm.json", "{\"teams\": [{\"team\": 1}]}");
  Append("trials.db", "no database");
  const auto view = ViewReader(folder_).Read(Depth::kAnalysis);
  EXPECT_FALSE(view.warnings.empty());
  EXPECT_FALSE(ViewDocument({view}, 0).dump().empty());
}

TEST_F(RunViews, AreNoneOfADamagedState) {
  WriteFile(folder_.path() / "state.json", "{");
  EXPECT_THROW(ViewReader(folder_).Read(Depth::kGlance), Error);
}

}  // namespace
}  // namespace slipway::launcher
