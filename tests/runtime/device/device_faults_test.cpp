// What a program is told when its GPU fails in a step: one test for each process, since the job cannot go on.

#include <gtest/gtest.h>
#include <mpi.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/json.h"
#include "tests/runtime/device/gpu_program.h"
#include "tests/support/temp_directory.h"

namespace slipway::test {
namespace {

using namespace fake_gpu;  // the entries that the program calls

class Faults : public testing::Test {
 protected:
  Faults() : buffer_(16) {
    ::setenv("SLIPWAY_METRICS", (folder_.path() / "metrics.jsonl").c_str(), 1);
    const Json config{{"resilience", {{"stall_after_s", 5}}}, {"trace", {{"chrome", true}}}};
    EXPECT_EQ(slipway_init(config.dump().c_str()), SLIPWAY_OK) << slipway_error_message();
    rank_ = slipway_rank();
    const std::int64_t shape[] = {4};
    const slipway_tensor tensor{"bias", SLIPWAY_FLOAT32, 1, shape, buffer_.data()};
    EXPECT_EQ(slipway_register("net", &tensor, 1, 0), SLIPWAY_OK) << slipway_error_message();
    EXPECT_EQ(slipway_configure_team("net", R"({"gpu_exchange": "staged"})"), SLIPWAY_OK) << slipway_error_message();
    const float values[] = {1, 2, 3, 4};
    buffer_.Fill(values, nullptr);
    EXPECT_EQ(slipway_gradients("net"), SLIPWAY_OK) << slipway_error_message();
  }
  ~Faults() override {
    if (slipway_rank() >= 0) End();
    if (together_) MPI_Finalize();  // the library has left that out, and mpirun would call it a failure
  }

  static void End() { EXPECT_EQ(slipway_finalize(), SLIPWAY_OK) << slipway_error_message(); }
  /// This rank's GPU fails in a call; the step says so, and that the process must end.
  static void ExpectEnd(const std::string& text) {
    EXPECT_EQ(slipway_gradients("net"), SLIPWAY_ERROR_DEVICE);
    const std::string message = slipway_error_message();
    EXPECT_NE(message.find(text), std::string::npos) << message;
    EXPECT_NE(message.find("end this process"), std::string::npos) << message;
    EXPECT_EQ(slipway_gradients("net"), SLIPWAY_ERROR_STATE);
  }

  TempDirectory folder_;
  int rank_ = 0;
  bool together_ = true;  ///< no rank waits for a message that another one does not send

 private:
  Gpu gpu_;
  GpuBuffer buffer_;
};

/// The timeline of the job has a row for copies, and one for those back, which no call waits for.
TEST_F(Faults, NothingFailsAndTheTraceShowsTheCopies) {
  EXPECT_EQ(slipway_gradients("net"), SLIPWAY_OK) << slipway_error_message();
  End();
  together_ = false;  // MPI has been finalized
  if (rank_ != 0) return;
  std::ifstream file(folder_.path() / "trace.json");
  const auto trace = Json::parse(file);
  std::map<std::string, std::set<int>> ranks;
  for (const auto& event : trace["traceEvents"]) {
    const std::string name = event["name"];
    if (!name.starts_with("copies ")) continue;
    ranks[name].insert(event["pid"].get<int>());
    EXPECT_EQ(event["args"]["bytes"], 4 * sizeof(float)) << event.dump();
    EXPECT_EQ(event["tid"], name == "copies from the GPU" ? 3 : 4) << event.dump();
  }
  const std::set<int> both{0, 1};
  const std::map<std::string, std::set<int>> expected{{"copies from the GPU", both}, {"copies to the GPU", both}};
  EXPECT_EQ(ranks, expected) << trace.dump();
}

TEST_F(Faults, ACopyToTheCpuFails) {
  fake_gpu_fail_call("cuMemcpyDtoHAsync_v2", 1, kIllegalAddress);
  ExpectEnd("cuMemcpyDtoHAsync failed: CUDA_ERROR_ILLEGAL_ADDRESS (700)");
}

TEST_F(Faults, ACopyToTheGpuFails) {
  fake_gpu_fail_call("cuMemcpyHtoDAsync_v2", 1, kUnknown);
  ExpectEnd("cuMemcpyHtoDAsync failed: CUDA_ERROR_UNKNOWN (999)");
}

/// A broadcast of two tensors, of which the second one's copy fails on rank 0: the job goes on.
class FaultsOfABroadcast : public Faults {
 protected:
  FaultsOfABroadcast() {
    fake_gpu_set_order(FAKE_GPU_LAZY, 0);
    const std::vector<char> zeros(kCount * sizeof(float));
    for (std::size_t i = 0; i < 2; ++i) {
      memory_[i].Fill(zeros.data(), nullptr);
      tensors_[i] = {i == 0 ? "a" : "b", SLIPWAY_FLOAT32, 1, &kCount, memory_[i].data()};
    }
  }
  int Broadcast(int root) { return slipway_broadcast(tensors_, 2, root, SLIPWAY_ALL); }
  /// The first one's copy is still queued then: what comes next waits for it. The last root lets it run in any case.
  void ExpectOrder(std::initializer_list<int> roots) {
    for (const int root : roots) EXPECT_EQ(Broadcast(root), SLIPWAY_OK) << slipway_error_message();
    EXPECT_EQ(Gpu::Violations(), "");
    End();
    together_ = false;  // MPI has been finalized
  }

 private:
  static constexpr std::int64_t kCount = 1000;
  GpuBuffer memory_[2] = {GpuBuffer(kCount * sizeof(float)), GpuBuffer(kCount * sizeof(float))};
  slipway_tensor tensors_[2] = {};
};

TEST_F(FaultsOfABroadcast, ACopyToTheCpuThatFailsLeavesNoneBehind) {
  if (rank_ == 0) fake_gpu_fail_call("cuMemcpyDtoHAsync_v2", 2, kInvalidValue);
  EXPECT_EQ(Broadcast(0), SLIPWAY_ERROR_DEVICE);
  ExpectOrder({1, 0});
}

TEST_F(FaultsOfABroadcast, ACopyToTheGpuThatFailsLeavesNoneBehind) {
  if (rank_ == 0) fake_gpu_fail_call("cuMemcpyHtoDAsync_v2", 2, kInvalidValue);
  EXPECT_EQ(Broadcast(1), rank_ == 0 ? SLIPWAY_ERROR_DEVICE : SLIPWAY_OK);
  ExpectOrder({0, 1});
}

TEST_F(Faults, TheGpuIsLostWhileItWorks) {
  fake_gpu_fail_operation(1, kLaunchFailed);
  ExpectEnd("CUDA_ERROR_LAUNCH_FAILED (719)");
}

/// The other rank learns who has left.
TEST_F(Faults, OneRankFailsAndTheOthersAreToldWhich) {
  together_ = false;
  if (slipway_rank() == 1) {
    fake_gpu_fail_call("cuMemcpyDtoHAsync_v2", 1, kIllegalAddress);
    ExpectEnd("CUDA_ERROR_ILLEGAL_ADDRESS");
    return;
  }
  EXPECT_EQ(slipway_gradients("net"), SLIPWAY_ERROR_STALLED);
  EXPECT_NE(std::string(slipway_error_message()).find("rank 1"), std::string::npos) << slipway_error_message();
}

/// A kernel of rank 1 that does not end, of the program or of the exchange: the other rank is told whose it is.
class EndlessKernels : public Faults {
 protected:
  static constexpr auto kLong = std::chrono::seconds(40);

  EndlessKernels() {
    together_ = false;
    fake_gpu_use_bandwidth(0);  // kernels run beside the program
  }
  /// Rank 1 waits for its GPU until mpirun ends it.
  void ExpectRank1IsNamed(const char* team) const {
    const int result = slipway_gradients(team);
    const std::string message = slipway_error_message();
    EXPECT_EQ(rank_, 0) << "the kernel has ended: " << message;
    EXPECT_EQ(result, SLIPWAY_ERROR_STALLED) << message;
    EXPECT_NE(message.find("rank 1"), std::string::npos) << message;
  }
};

TEST_F(EndlessKernels, OfTheProgramAreNamedWhereTheCpuCombines) {
  if (rank_ == 1) {
    fake_gpu_register_kernel(
        "endless", [](const fake_gpu_launch*, void**) { std::this_thread::sleep_for(kLong); }, nullptr, 0);
    void* module = nullptr;
    void* function = nullptr;
    ASSERT_EQ(cuModuleLoadData(&module, "endless"), kSuccess);
    ASSERT_EQ(cuModuleGetFunction(&function, module, "endless"), kSuccess);
    ASSERT_EQ(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr), kSuccess);
  }
  ExpectRank1IsNamed("net");
}

TEST_F(EndlessKernels, OfTheExchangeAreNamedWhereTheGpusCombine) {
  constexpr std::int64_t kCount = 1000;
  GpuBuffer buffer(kCount * sizeof(float));
  const slipway_tensor tensor{"weight", SLIPWAY_FLOAT32, 1, &kCount, buffer.data()};
  ASSERT_EQ(slipway_register("sums", &tensor, 1, 0), SLIPWAY_OK) << slipway_error_message();
  ASSERT_EQ(slipway_configure_team("sums", R"({"gpu_exchange": "direct"})"), SLIPWAY_OK) << slipway_error_message();
  if (rank_ == 1) Gpu::DelayKernels(kLong);
  ExpectRank1IsNamed("sums");
}

/// Of a single call, without a team. Programs may try it again after an error, as torch's do with smaller batches.
class FaultsOfAnAllreduce : public Faults {
 protected:
  static constexpr std::int64_t kMost = 50'000;  ///< elements: above what the CPU combines in any case

  FaultsOfAnAllreduce() : memory_(kMost * sizeof(float)) {
    const std::vector<char> zeros(kMost * sizeof(float));
    memory_.Fill(zeros.data(), nullptr);
    together_ = false;
  }
  int Sum(std::int64_t count) {
    return slipway_allreduce(memory_.data(), count, SLIPWAY_FLOAT32, SLIPWAY_SUM, SLIPWAY_ALL);
  }
  /// Rank 1 fails with this status, and cannot try again: rank 0 is told, and never takes the next sums for these.
  void ExpectParted(std::int64_t count, slipway_status status) {
    if (rank_ == 1) {
      EXPECT_EQ(Sum(count), status) << slipway_error_message();
      EXPECT_EQ(Sum(count), SLIPWAY_ERROR_STATE) << slipway_error_message();
      return;
    }
    EXPECT_EQ(Sum(count), SLIPWAY_ERROR_STALLED);
    EXPECT_NE(std::string(slipway_error_message()).find("rank 1"), std::string::npos) << slipway_error_message();
  }

 private:
  GpuBuffer memory_;
};

TEST_F(FaultsOfAnAllreduce, ARankWithoutMemoryBetweenTwoMeetingsPartsTheRanks) {
  ASSERT_EQ(Sum(40'000), SLIPWAY_OK) << slipway_error_message();
  if (rank_ == 1) fake_gpu_fail_call("cuMemAlloc_v2", 1, kOutOfMemory);
  ExpectParted(kMost, SLIPWAY_ERROR_OUT_OF_MEMORY);
}

/// Others are in the same round, with the block of this rank.
TEST_F(FaultsOfAnAllreduce, AGpuThatFailsWhileWaysAreTimedPartsTheRanks) {
  if (rank_ == 1) fake_gpu_fail_call("cuLaunchKernel", 3, kInvalidValue);  // the GPUs try sums first
  ExpectParted(kMost, SLIPWAY_ERROR_DEVICE);
  EXPECT_EQ(Gpu::Violations(), "");
}

/// The watch names it: nobody waits for what it was to combine.
TEST_F(FaultsOfAnAllreduce, ARankThatDiesWhileWaysAreTimedIsNamed) {
  if (rank_ == 1) Gpu::DieInKernel(3);  // the GPUs try sums first
  EXPECT_EQ(Sum(kMost), SLIPWAY_ERROR_STALLED);
  EXPECT_NE(std::string(slipway_error_message()).find("rank 1"), std::string::npos) << slipway_error_message();
}

TEST_F(FaultsOfAnAllreduce, ACopyThatFailsOnOneRankPartsTheRanks) {
  constexpr std::int64_t kSmall = 10'000;  // through the CPU
  ASSERT_EQ(Sum(kSmall), SLIPWAY_OK) << slipway_error_message();
  if (rank_ == 1) fake_gpu_fail_call("cuMemcpyDtoHAsync_v2", 1, kInvalidValue);
  ExpectParted(kSmall, SLIPWAY_ERROR_DEVICE);
}

/// Rank 1 of two nodes of two ranks, when one part has been combined. Its own node is told who; the other one at least
/// that nothing comes.
TEST_F(FaultsOfAnAllreduce, ACopyThatFailsBetweenPartsEndsTheRanksOfAllNodes) {
  constexpr std::int64_t kLong = 3'300'007;
  GpuBuffer memory(kLong * sizeof(float));
  const std::vector<char> zeros(kLong * sizeof(float));
  memory.Fill(zeros.data(), nullptr);
  const auto stored = fake_gpu_calls("cuMemcpyHtoDAsync_v2");
  if (rank_ == 1) fake_gpu_fail_call("cuMemcpyDtoHAsync_v2", 9, kInvalidValue);  // four parts begin with two each
  const int result = slipway_allreduce(memory.data(), kLong, SLIPWAY_FLOAT32, SLIPWAY_MAX, SLIPWAY_ALL);
  const std::string message = slipway_error_message();
  EXPECT_EQ(result, rank_ == 1 ? SLIPWAY_ERROR_DEVICE : SLIPWAY_ERROR_STALLED) << message;
  EXPECT_GT(fake_gpu_calls("cuMemcpyHtoDAsync_v2"), stored) << "no part has been combined";
  if (rank_ == 0) {
    EXPECT_NE(message.find("rank 1"), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace slipway::test
