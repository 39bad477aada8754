// What a program is told when its GPU fails in a step: one test for each process, since the job cannot go on.

#include <gtest/gtest.h>
#include <mpi.h>

#include <string>

#include "tests/runtime/device/gpu_program.h"

namespace slipway::test {
namespace {

using namespace fake_gpu;  // the entries that the program calls

class Faults : public testing::Test {
 protected:
  Faults() : buffer_(16) {
    EXPECT_EQ(slipway_init(R"({"resilience": {"stall_after": 5}})"), SLIPWAY_OK) << slipway_error_message();
    const std::int64_t shape[] = {4};
    const slipway_tensor tensor{"bias", SLIPWAY_FLOAT32, 1, shape, buffer_.data()};
    EXPECT_EQ(slipway_register("net", &tensor, 1, 0), SLIPWAY_OK) << slipway_error_message();
    EXPECT_EQ(slipway_configure_team("net", R"({"gpu_exchange": "staged"})"), SLIPWAY_OK) << slipway_error_message();
    const float values[] = {1, 2, 3, 4};
    buffer_.Fill(values, nullptr);
    EXPECT_EQ(slipway_gradients("net"), SLIPWAY_OK) << slipway_error_message();
  }
  ~Faults() override {
    EXPECT_EQ(slipway_finalize(), SLIPWAY_OK) << slipway_error_message();
    if (together_) MPI_Finalize();  // the library has left that out, and mpirun would call it a failure
  }

  /// This rank's GPU fails in a call; the step says so, and that the process must end.
  static void ExpectEnd(const std::string& text) {
    EXPECT_EQ(slipway_gradients("net"), SLIPWAY_ERROR_DEVICE);
    const std::string message = slipway_error_message();
    EXPECT_NE(message.find(text), std::string::npos) << message;
    EXPECT_NE(message.find("end this process"), std::string::npos) << message;
    EXPECT_EQ(slipway_gradients("net"), SLIPWAY_ERROR_STATE);
  }

  bool together_ = true;  ///< no rank waits for a message that another one does not send

 private:
  Gpu gpu_;
  GpuBuffer buffer_;
};

TEST_F(Faults, ACopyToTheCpuFails) {
  fake_gpu_fail_call("cuMemcpyDtoHAsync_v2", 1, kIllegalAddress);
  ExpectEnd("cuMemcpyDtoHAsync failed: CUDA_ERROR_ILLEGAL_ADDRESS (700)");
}

TEST_F(Faults, ACopyToTheGpuFails) {
  fake_gpu_fail_call("cuMemcpyHtoDAsync_v2", 1, kUnknown);
  ExpectEnd("cuMemcpyHtoDAsync failed: CUDA_ERROR_UNKNOWN (999)");
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

}  // namespace
}  // namespace slipway::test
