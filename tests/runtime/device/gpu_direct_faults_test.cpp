// GPUs of a node that add up, and what the CPU does instead: what a job is told, and copies that fail late. One test
// for each process, on two ranks.

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "tests/runtime/device/gpu_job.h"
#include "tests/support/rank_of_launcher.h"

namespace slipway::test {
namespace {

using namespace fake_gpu;  // the entries that the program calls

class DirectJob : public GpuJob {
 protected:
  DirectJob() { ::setenv("SLIPWAY_NCCL", "/nonexistent/libnccl.so.2", 1); }  // not one of this machine
  void ExpectStaged(const Json& gradients, const std::string& why) {
    Begin(gradients);
    ASSERT_EQ(Register(), SLIPWAY_OK) << slipway_error_message();
    ASSERT_EQ(slipway_gradients("net"), SLIPWAY_OK) << slipway_error_message();
    const auto team = ReportAfterEnd();
    if (rank_ != 0) return;
    EXPECT_EQ(team["way"], "staged") << team.dump();
    EXPECT_EQ(team["without_direct"], why) << team.dump();
  }
};

TEST_F(DirectJob, TheReportNamesTheSettingThatStagesATeam) { ExpectStaged({{"clip_norm", 1}}, "clip_norm is set"); }

TEST_F(DirectJob, TheReportNamesAGpuThatStagesATeam) {
  if (RankOfLauncher() == 1) fake_gpu_fail_call("cuModuleLoadData", 1, kNotSupported);
  ExpectStaged(Json::object(), "a GPU or its driver cannot run the kernel of the sums");
}

TEST_F(DirectJob, TheReportSaysThatAmdGpusStageATeam) {
  if (!IsHip()) GTEST_SKIP() << "these GPUs run the kernel";
  ExpectStaged(Json::object(), "AMD's GPUs cannot run the kernel of the sums, which is PTX");
}

TEST_F(DirectJob, IsRefusedOnAmdGpus) {
  if (!IsHip()) GTEST_SKIP() << "these GPUs run the kernel";
  Begin({{"gpu_exchange", "direct"}});
  ExpectRefusal(SLIPWAY_ERROR_ARGUMENT, "but AMD's GPUs cannot run the kernel of the sums, which is PTX; set");
}

TEST_F(DirectJob, TheReportSaysThatTheCpuWaits) {
  Begin(Json::object());
  ASSERT_EQ(Register(), SLIPWAY_OK) << slipway_error_message();
  const auto team = ReportAfterEnd();
  if (rank_ != 0) return;
  EXPECT_EQ(team["waits"], "cpu") << team.dump();
  EXPECT_FALSE(team["bits"].is_null()) << team.dump();
  EXPECT_FALSE(team.contains("without_direct")) << team.dump();
  EXPECT_FALSE(team.contains("sum_threads")) << team.dump();
}

/// Whether a GPU has memory left is not to decide the bits.
TEST_F(DirectJob, TheReportSaysThatARingStagesATeam) {
  Begin({{"algorithms", "ring"}});
  ASSERT_EQ(Register(), SLIPWAY_OK) << slipway_error_message();
  ASSERT_EQ(slipway_gradients("net"), SLIPWAY_OK) << slipway_error_message();
  const auto team = ReportAfterEnd();
  if (rank_ != 0) return;
  EXPECT_EQ(team["way"], "staged") << team.dump();
  EXPECT_EQ(team["without_direct"], "the CPU does not add up in rank order, by the table of algorithms") << team.dump();
  EXPECT_FALSE(team["bits"].is_null()) << team.dump();
}

TEST_F(DirectJob, ARingDoesNotStageATeamWhereAnyBitsAreGood) {
  Begin({{"algorithms", "ring"}, {"deterministic", false}});
  ASSERT_EQ(Register(), SLIPWAY_OK) << slipway_error_message();
  const auto team = ReportAfterEnd();
  if (rank_ != 0) return;
  EXPECT_TRUE(team["measured_ms"].contains("direct")) << team.dump();
}

/// They add up in the order of the ranks.
TEST_F(DirectJob, TheReportPromisesNoBitsWhereTheCpuWouldAddUpInARing) {
  Begin({{"algorithms", "ring"}, {"gpu_exchange", "direct"}});
  ASSERT_EQ(Register(), SLIPWAY_OK) << slipway_error_message();
  ASSERT_EQ(slipway_gradients("net"), SLIPWAY_OK) << slipway_error_message();
  const auto team = ReportAfterEnd();
  if (rank_ != 0) return;
  EXPECT_EQ(team["way"], "direct") << team.dump();
  EXPECT_TRUE(team["bits"].is_null()) << team.dump();
}

TEST_F(DirectJob, TheReportCountsTheThreadsOfAStagedTeam) {
  ::setenv("SLIPWAY_GPU_SUM_THREADS", "3", 1);
  Begin({{"gpu_exchange", "staged"}});
  ASSERT_EQ(Register(), SLIPWAY_OK) << slipway_error_message();
  ASSERT_EQ(slipway_gradients("net"), SLIPWAY_OK) << slipway_error_message();
  const auto team = ReportAfterEnd();
  if (rank_ != 0) return;
  EXPECT_EQ(team["sum_threads"], 3) << team.dump();
}

TEST_F(DirectJob, AWrongNumberOfThreadsIsRefused) {
  ::setenv("SLIPWAY_GPU_SUM_THREADS", "many", 1);
  EXPECT_EQ(slipway_init("{}"), SLIPWAY_ERROR_ARGUMENT);
  EXPECT_NE(std::string(slipway_error_message()).find("SLIPWAY_GPU_SUM_THREADS is 'many', not a number of threads"),
            std::string::npos)
      << slipway_error_message();
}

TEST_F(DirectJob, AFailureNamesTheFunctionOfTheDriver) {
  Begin({{"gpu_exchange", "staged"}});
  ASSERT_EQ(Register(), SLIPWAY_OK) << slipway_error_message();
  fake_gpu_fail_call("cuMemcpyHtoDAsync_v2", 1, kUnknown);
  EXPECT_EQ(slipway_gradients("net"), SLIPWAY_ERROR_DEVICE);
  const std::string message = slipway_error_message();
  const char* expected = IsHip() ? ": hipMemcpyHtoDAsync failed: " : ": cuMemcpyHtoDAsync failed: ";
  EXPECT_NE(message.find(expected), std::string::npos) << message;
}

TEST_F(DirectJob, TheTraceShowsTheSums) { ExpectSumsInTheTrace(); }

/// Copies back that no call has waited for, and that fail on both ranks.
class LateCopies : public GpuJob {
 protected:
  void BeginWithACopyThatFails() {
    fake_gpu_set_order(FAKE_GPU_LAZY, 0);
    Begin({{"gpu_exchange", "staged"}});
    ASSERT_EQ(Register(), SLIPWAY_OK) << slipway_error_message();
    ASSERT_EQ(slipway_wait_on_stream("net", nullptr), SLIPWAY_OK) << slipway_error_message();
    MPI_Barrier(MPI_COMM_WORLD);  // no rank waits for one that has failed
    fake_gpu_fail_operation(1, kLaunchFailed);
  }
  static void ExpectFailure(int result) {
    EXPECT_EQ(result, SLIPWAY_ERROR_DEVICE);
    const std::string message = slipway_error_message();
    EXPECT_NE(message.find("LAUNCH_FAILED"), std::string::npos) << message;
  }
};

TEST_F(LateCopies, ShowAtUnregister) {
  BeginWithACopyThatFails();
  ExpectFailure(slipway_unregister("net"));
}

TEST_F(LateCopies, ShowAtTheEnd) {
  BeginWithACopyThatFails();
  ExpectFailure(slipway_finalize());
}

TEST_F(LateCopies, ShowBeforeACheckpoint) {
  BeginWithACopyThatFails();
  char path[4096];
  ExpectFailure(slipway_checkpoint_begin(1, path, sizeof path));
}

/// Also of a job without a team.
TEST_F(DirectJob, TheReportHasTheWaysOfAllreduces) {
  Begin(Json::object());
  GpuBuffer there(kCount * sizeof(float));
  const std::vector<char> zeros(kCount * sizeof(float));
  there.Fill(zeros.data(), nullptr);
  ASSERT_EQ(slipway_allreduce(there.data(), kCount, SLIPWAY_FLOAT32, SLIPWAY_SUM, SLIPWAY_ALL), SLIPWAY_OK)
      << slipway_error_message();
  End();
  if (rank_ != 0) return;
  std::ifstream file(folder_.path() / "comm.json");
  const auto report = Json::parse(file);
  EXPECT_EQ(report["teams"], Json::array());
  EXPECT_FALSE(report["bits"].is_null());
  ASSERT_EQ(report["gpu_allreduce"].size(), 1u) << report.dump();
  const auto& calls = report["collectives"]["groups"][0]["calls"];
  ASSERT_EQ(calls.size(), 1u) << report.dump();
  EXPECT_EQ(calls[0]["call"], "slipway_allreduce");
  EXPECT_NE(calls[0]["way"], "cpu");
  EXPECT_EQ(calls[0]["bytes"], kCount * sizeof(float));
  const auto& group = report["gpu_allreduce"][0];
  EXPECT_EQ(group["ranks"], 2);
  EXPECT_EQ(group["first_rank"], 0);
  EXPECT_EQ(group["measured_ms"].back()["bytes"], 16 << 20) << group.dump();
  EXPECT_TRUE(group["ways"].back()["up_to_bytes"].is_null()) << group.dump();
  for (const char* member : {"bytes", "staged", "direct"}) {
    EXPECT_TRUE(group["measured_ms"][0].contains(member)) << group.dump();
  }
}

/// On three ranks. The first of each group reports it, rank 0 where it is in it.
TEST_F(DirectJob, TheReportHasTheWaysOfGroupsWithoutRank0) {
  Begin(Json::object());
  GpuBuffer there(kCount * sizeof(float));
  const std::vector<char> zeros(kCount * sizeof(float));
  there.Fill(zeros.data(), nullptr);
  for (const auto& members : {std::vector{1, 2}, std::vector{2, 0}}) {
    int group = 0;
    ASSERT_EQ(slipway_group_create(members.data(), 2, &group), SLIPWAY_OK) << slipway_error_message();
    if (std::ranges::find(members, rank_) == members.end()) continue;
    ASSERT_EQ(slipway_allreduce(there.data(), kCount, SLIPWAY_FLOAT32, SLIPWAY_SUM, group), SLIPWAY_OK)
        << slipway_error_message();
  }
  End();
  if (rank_ != 0) return;
  std::ifstream file(folder_.path() / "comm.json");
  const auto groups = Json::parse(file)["gpu_allreduce"];
  ASSERT_EQ(groups.size(), 2u) << groups.dump();
  std::set<int> first;
  for (const auto& group : groups) {
    first.insert(group["first_rank"].get<int>());
    EXPECT_EQ(group["ranks"], 2) << group.dump();
    EXPECT_TRUE(group["ways"].back()["up_to_bytes"].is_null()) << group.dump();
    EXPECT_FALSE(group["measured_ms"].empty()) << group.dump();
  }
  EXPECT_EQ(first, (std::set{1, 2}));
}

}  // namespace
}  // namespace slipway::test
