// Tensors of GPUs that MPI adds up: the real MPI behind one that takes memory of the fake GPU, in every order that a
// GPU may work in.

#include "tests/runtime/device/gpu_mpi.h"
#include "tests/runtime/device/gpu_team.h"

namespace slipway::test {
namespace {

using namespace fake_gpu;  // the entries that the program calls

class GpuMpi : public OnDevice {
 protected:
  void SetUp() override {
    if (Ranks() == 1) GTEST_SKIP() << "a lone rank needs no MPI";
  }
};

TEST_F(GpuMpi, GivesSumsAndMeansInEveryOrder) {
  for (const auto dtype : {SLIPWAY_FLOAT32, SLIPWAY_FLOAT64}) {
    for (const auto op : {SLIPWAY_SUM, SLIPWAY_MEAN}) {
      for (const auto order : {FAKE_GPU_LAZY, FAKE_GPU_EAGER, FAKE_GPU_RANDOM}) {
        fake_gpu_set_order(order, 5);
        const std::string settings = op == SLIPWAY_SUM ? R"("op": "sum")" : R"("op": "mean")";
        GpuTeam team({7, 30000, 0, 1, 2500}, R"({"gpu_exchange": "mpi", "bucket_bytes": 20000, )" + settings + "}",
                     dtype);
        const auto before = fake_gpu_mpi_calls();
        GpuStream streams[2];
        for (int step = 0; step < 4; ++step) {
          EXPECT_EQ(team.Step(Seed(step, 0), op, streams[step % 2].handle()), "") << "step " << step;
        }
        EXPECT_GT(fake_gpu_mpi_calls(), before);
      }
    }
  }
}

TEST_F(GpuMpi, GivesSumsOfIntegers) {
  for (const auto dtype : {SLIPWAY_INT32, SLIPWAY_INT64}) {
    GpuTeam team({5, 3000}, R"({"gpu_exchange": "mpi", "op": "sum"})", dtype);
    GpuStream stream;
    EXPECT_EQ(team.Step(Seed(0, 0), SLIPWAY_SUM, stream.handle()), "");
  }
}

/// A step allocates nothing and waits for no device.
TEST_F(GpuMpi, AStepNeverStopsTheGpu) {
  GpuTeam team({7, 30000, 2500}, R"({"gpu_exchange": "mpi"})", SLIPWAY_FLOAT32);
  GpuStream stream;
  const auto sum = [] {
    return fake_gpu_count(FAKE_GPU_DEVICE_SYNCHRONISATIONS) + fake_gpu_count(FAKE_GPU_SLOW_CALLS_UNDER_WORK) +
           fake_gpu_calls("cuMemAlloc_v2") + fake_gpu_calls("cuMemHostRegister_v2");
  };
  const auto before = sum();
  for (int step = 0; step < 3; ++step) EXPECT_EQ(team.Step(Seed(step, 0), SLIPWAY_MEAN, stream.handle()), "");
  EXPECT_EQ(sum(), before);
}

TEST_F(GpuMpi, IsRefusedWhereItWouldNotKeepAPromise) {
  const std::int64_t shape[] = {4};
  GpuBuffer buffer(32);
  const slipway_tensor floats{"bias", SLIPWAY_FLOAT32, 1, shape, buffer.data()};
  const slipway_tensor narrow{"weight", SLIPWAY_BFLOAT16, 1, shape, buffer.data()};
  ASSERT_EQ(slipway_register("clipped", &floats, 1, 0), SLIPWAY_OK) << slipway_error_message();
  ExpectRefused(slipway_configure_team("clipped", R"({"gpu_exchange": "mpi", "clip_norm": 1})"), SLIPWAY_ERROR_ARGUMENT,
                "cannot be exchanged by MPI");
  EXPECT_EQ(slipway_unregister("clipped"), SLIPWAY_OK) << slipway_error_message();
  ASSERT_EQ(slipway_register("narrow", &narrow, 1, 0), SLIPWAY_OK) << slipway_error_message();
  ExpectRefused(slipway_configure_team("narrow", R"({"gpu_exchange": "mpi"})"), SLIPWAY_ERROR_ARGUMENT,
                "tensor 'weight' of bfloat16 is not for MPI");
  EXPECT_EQ(slipway_unregister("narrow"), SLIPWAY_OK) << slipway_error_message();
}

/// On one rank: all are told.
TEST_F(GpuMpi, IsRefusedWhereMpiSaysNo) {
  const std::int64_t shape[] = {4};
  GpuBuffer buffer(16);
  const slipway_tensor tensor{"bias", SLIPWAY_FLOAT32, 1, shape, buffer.data()};
  ASSERT_EQ(slipway_register("refused", &tensor, 1, 0), SLIPWAY_OK) << slipway_error_message();
  if (Rank() == 1) fake_gpu_mpi_answer(0);
  ExpectRefused(slipway_configure_team("refused", R"({"gpu_exchange": "mpi"})"), SLIPWAY_ERROR_DEVICE,
                "this MPI does not take memory of GPUs (MPIX_Query_cuda_support says no): load one that was built for "
                "CUDA, or set gpu_exchange to auto");
  fake_gpu_mpi_answer(1);
  ASSERT_EQ(slipway_configure_team("refused", R"({"gpu_exchange": "mpi"})"), SLIPWAY_OK) << slipway_error_message();
  EXPECT_EQ(slipway_gradients("refused"), SLIPWAY_OK) << slipway_error_message();
  EXPECT_EQ(slipway_unregister("refused"), SLIPWAY_OK);
}

/// Before MPI is tried, on one rank: all are told, and at once.
TEST_F(GpuMpi, IsRefusedOnAllRanksWhereOneHasNoMemoryToTryIt) {
  const std::int64_t shape[] = {4};
  GpuBuffer buffer(16);
  const slipway_tensor tensor{"bias", SLIPWAY_FLOAT32, 1, shape, buffer.data()};
  ASSERT_EQ(slipway_register("full", &tensor, 1, 0), SLIPWAY_OK) << slipway_error_message();
  for (const char* call : {"cuMemAlloc_v2", "cuStreamCreate", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2"}) {
    if (Rank() == 1) fake_gpu_fail_call(call, 1, kOutOfMemory);
    ExpectRefused(slipway_configure_team("full", R"({"gpu_exchange": "mpi"})"), SLIPWAY_ERROR_OUT_OF_MEMORY,
                  "rank 1: ");
  }
  ASSERT_EQ(slipway_configure_team("full", R"({"gpu_exchange": "mpi"})"), SLIPWAY_OK) << slipway_error_message();
  EXPECT_EQ(slipway_gradients("full"), SLIPWAY_OK) << slipway_error_message();
  EXPECT_EQ(slipway_unregister("full"), SLIPWAY_OK);
}

}  // namespace
}  // namespace slipway::test
