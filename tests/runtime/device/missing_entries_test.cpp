// Exchanges on a driver that lacks a function, or is of an old version: one test for each process, since the runtime
// looks at the driver once.

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "tests/runtime/device/gpu_job.h"

namespace slipway::test {
namespace {

using namespace fake_gpu;

/// SLIPWAY_TEST_HIDDEN names the function that is missing.
class OldDriver : public GpuJob {
 protected:
  OldDriver() {
    ::setenv("SLIPWAY_NCCL", "/nonexistent/libnccl.so.2", 1);  // not one of this machine
    if (const char* hidden = std::getenv("SLIPWAY_TEST_HIDDEN")) fake_gpu_hide(hidden);
  }
  /// Single sums on the GPU, and those of a team, are the CPU's. What the report says of the team, on rank 0.
  Json TeamOfRightSums() {
    Begin(Json::object());
    constexpr std::int64_t kMany = 50'000;
    auto here = RandomBytes(SLIPWAY_FLOAT32, kMany, static_cast<unsigned>(rank_));
    GpuBuffer there(here.size());
    GpuBuffer alone(here.size());
    const slipway_tensor tensor{"weight", SLIPWAY_FLOAT32, 1, &kMany, there.data()};
    EXPECT_EQ(slipway_register("net", &tensor, 1, 0), SLIPWAY_OK) << slipway_error_message();
    there.Fill(here.data(), nullptr);
    alone.Fill(here.data(), nullptr);
    EXPECT_EQ(slipway_gradients("net"), SLIPWAY_OK) << slipway_error_message();
    for (void* data : {alone.data(), static_cast<void*>(here.data())}) {
      EXPECT_EQ(slipway_allreduce(data, kMany, SLIPWAY_FLOAT32, SLIPWAY_MEAN, SLIPWAY_ALL), SLIPWAY_OK)
          << slipway_error_message();
    }
    EXPECT_TRUE(there.Read(nullptr) == here);
    EXPECT_TRUE(alone.Read(nullptr) == here);
    EXPECT_EQ(Gpu::Violations(), "");
    return ReportAfterEnd();
  }
  void ExpectStaged(const std::string& why) {
    const auto team = TeamOfRightSums();
    if (rank_ != 0) return;
    EXPECT_EQ(team["way"], "staged") << team.dump();
    EXPECT_EQ(team["without_direct"], why) << team.dump();
  }
  void ExpectDirectWith(const std::string& waits) {
    const auto team = TeamOfRightSums();
    if (rank_ != 0) return;
    EXPECT_EQ(team["way"], "direct") << team.dump();
    EXPECT_EQ(team["waits"], waits) << team.dump();
  }
};

constexpr auto kNoIpc =
    "a rank cannot open the tensors of another one by CUDA IPC: use --gpu-bind=none with an srun of your own, "
    "--ipc=host with containers, and no memory of expandable_segments or cudaMallocAsync";

TEST_F(OldDriver, WithoutAFunctionOfDirectIsStaged) { ExpectStaged(kNoIpc); }

TEST_F(OldDriver, WithoutAFunctionOfDirectRefusesIt) {
  Begin({{"gpu_exchange", "direct"}});
  ExpectRefusal(SLIPWAY_ERROR_ARGUMENT, std::string("but ") + kNoIpc + "; set gpu_exchange to auto");
  void* memory = nullptr;
  EXPECT_EQ(slipway_alloc_on_device(1000, 0, &memory), SLIPWAY_ERROR_DEVICE);
  EXPECT_NE(std::string(slipway_error_message()).find("the driver cannot share memory of GPUs"), std::string::npos)
      << slipway_error_message();
}

/// Events are asked for by the environment.
TEST_F(OldDriver, WithoutAFunctionOfSharedEventsLetsTheCpuWait) { ExpectDirectWith("cpu"); }

TEST_F(OldDriver, WithoutAFunctionOfCapturesGoesOn) { ExpectDirectWith("cpu"); }

TEST_F(OldDriver, WithoutARequiredFunctionIsRefused) {
  Begin(Json::object());
  ExpectRefusal(SLIPWAY_ERROR_DEVICE,
                std::string("the driver of the GPU has no function ") + std::getenv("SLIPWAY_TEST_HIDDEN"));
}

/// The kernel of the sums is PTX 6.3, for CUDA 10.0.
TEST_F(OldDriver, BeforeThePtxOfTheSumsIsStaged) {
  fake_gpu_set_version(9020);
  ExpectStaged("a GPU or its driver cannot run the kernel of the sums");
}

/// It cannot say whether it shares events, and does.
TEST_F(OldDriver, BeforeCuda12SharesEvents) {
  fake_gpu_set_version(10000);
  ExpectDirectWith("events");
}

}  // namespace
}  // namespace slipway::test
