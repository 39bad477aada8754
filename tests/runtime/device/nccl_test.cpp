// Tensors of GPUs that NCCL adds up: the fake NCCL over the fake driver, in every order that a GPU may work in.

#include <algorithm>
#include <memory>

#include "runtime/reduction/reduction.h"
#include "tests/runtime/device/fake_nccl/fake_nccl.h"
#include "tests/runtime/device/gpu_team.h"

namespace slipway::test {
namespace {

using namespace fake_gpu;  // the entries that the program calls

constexpr int kSystemError = 2;

class Nccl : public OnDevice {
 protected:
  void TearDown() override {
    OnDevice::TearDown();
    EXPECT_EQ(fake_nccl_communicators(), 0u);
  }
};

TEST_F(Nccl, GivesSumsAndMeansInEveryOrder) {
  for (const auto dtype : {SLIPWAY_FLOAT32, SLIPWAY_FLOAT64}) {
    for (const auto op : {SLIPWAY_SUM, SLIPWAY_MEAN}) {
      for (const auto order : {FAKE_GPU_LAZY, FAKE_GPU_EAGER, FAKE_GPU_RANDOM}) {
        fake_gpu_set_order(order, 5);
        const auto before = fake_nccl_calls("ncclAllReduce");
        const std::string settings = op == SLIPWAY_SUM ? R"("op": "sum")" : R"("op": "mean")";
        GpuTeam team({7, 30000, 0, 1, 2500}, R"({"gpu_exchange": "nccl", "bucket_bytes": 20000, )" + settings + "}",
                      dtype);
        GpuStream streams[2];
        for (int step = 0; step < 4; ++step) {
          EXPECT_EQ(team.Step(Seed(step, 0), op, streams[step % 2].handle()), "") << "step " << step;
        }
        EXPECT_GT(fake_nccl_calls("ncclAllReduce"), before);
      }
    }
  }
}

/// A step allocates nothing and waits for no device.
TEST_F(Nccl, AStepNeverStopsTheGpu) {
  GpuTeam team({7, 30000, 2500}, R"({"gpu_exchange": "nccl"})", SLIPWAY_FLOAT32);
  GpuStream stream;
  const auto sum = [] {
    return fake_gpu_count(FAKE_GPU_DEVICE_SYNCHRONISATIONS) + fake_gpu_count(FAKE_GPU_SLOW_CALLS_UNDER_WORK) +
           fake_gpu_calls("cuMemAlloc_v2") + fake_gpu_calls("cuMemHostRegister_v2");
  };
  const auto before = sum();
  for (int step = 0; step < 3; ++step) EXPECT_EQ(team.Step(Seed(step, 0), SLIPWAY_MEAN, stream.handle()), "");
  EXPECT_EQ(sum(), before);
}

/// Memory without gaps on all ranks is one message; a gap on one rank divides it on all.
TEST_F(Nccl, JoinsTensorsThatLieTogether) {
  constexpr std::int64_t kCount = 1000;
  GpuBuffer block(3 * kCount * sizeof(float));
  for (const bool gap : {false, true}) {
    auto* first = static_cast<float*>(block.data());
    auto* second = first + (gap && Rank() == 0 ? 2 * kCount : kCount);
    const std::int64_t shape[] = {kCount};
    const slipway_tensor tensors[] = {{"a", SLIPWAY_FLOAT32, 1, shape, first},
                                      {"b", SLIPWAY_FLOAT32, 1, shape, second}};
    ASSERT_EQ(slipway_register("joined", tensors, 2, 0), SLIPWAY_OK) << slipway_error_message();
    ASSERT_EQ(slipway_configure_team("joined", R"({"gpu_exchange": "nccl", "op": "sum"})"), SLIPWAY_OK)
        << slipway_error_message();
    const auto values = RandomBytes(SLIPWAY_FLOAT32, 3 * kCount, 3);
    block.Fill(values.data(), nullptr);
    const auto before = fake_nccl_calls("ncclAllReduce");
    ASSERT_EQ(slipway_gradients("joined"), SLIPWAY_OK) << slipway_error_message();
    EXPECT_EQ(fake_nccl_calls("ncclAllReduce") - before, gap ? 2u : 1u);
    const auto sums = block.Read(nullptr);
    for (const auto* each : {first, second}) {
      const auto at = static_cast<std::size_t>(each - first);
      const auto* was = reinterpret_cast<const float*>(values.data()) + at;
      const auto* is = reinterpret_cast<const float*>(sums.data()) + at;
      if (gap && each == second) continue;  // rank 0 gave other values
      for (int i = 0; i < kCount; ++i) ASSERT_EQ(is[i], was[i] * static_cast<float>(Ranks())) << i;
    }
    EXPECT_EQ(slipway_unregister("joined"), SLIPWAY_OK);
  }
}

TEST_F(Nccl, RoundsSixteenBitsAtMostAfterEachAddition) {
  constexpr std::int64_t kCount = 5000;
  const std::int64_t shape[] = {kCount};
  GpuBuffer buffer(kCount * 2);
  const slipway_tensor tensor{"a", SLIPWAY_BFLOAT16, 1, shape, buffer.data()};
  ASSERT_EQ(slipway_register("narrow", &tensor, 1, 0), SLIPWAY_OK) << slipway_error_message();
  ASSERT_EQ(slipway_configure_team("narrow", R"({"gpu_exchange": "nccl"})"), SLIPWAY_OK) << slipway_error_message();
  auto here = RandomBytes(SLIPWAY_BFLOAT16, kCount, Seed(0, 0));
  buffer.Fill(here.data(), nullptr);
  ASSERT_EQ(slipway_gradients("narrow"), SLIPWAY_OK) << slipway_error_message();
  const auto there = buffer.Read(nullptr);
  EXPECT_TRUE(SameOnAllRanks(there.data(), there.size()));
  ASSERT_EQ(slipway_allreduce(here.data(), kCount, SLIPWAY_BFLOAT16, SLIPWAY_MEAN, SLIPWAY_ALL), SLIPWAY_OK);
  std::vector<float> exact(kCount);
  std::vector<float> given(kCount);
  runtime::Widen(here.data(), exact.data(), kCount, SLIPWAY_BFLOAT16);
  runtime::Widen(there.data(), given.data(), kCount, SLIPWAY_BFLOAT16);
  // Values of up to 32, with 8 bits: half a unit in the last place of the sums, for each rank.
  for (std::size_t i = 0; i < exact.size(); ++i) ASSERT_NEAR(exact[i], given[i], 0.5 * Ranks()) << i;
  EXPECT_EQ(slipway_unregister("narrow"), SLIPWAY_OK);
}

TEST_F(Nccl, IsRefusedWhereItWouldNotKeepAPromise) {
  const std::int64_t shape[] = {4};
  GpuBuffer buffer(32);
  const slipway_tensor floats{"bias", SLIPWAY_FLOAT32, 1, shape, buffer.data()};
  const slipway_tensor integers{"count", SLIPWAY_INT64, 1, shape, buffer.data()};
  ASSERT_EQ(slipway_register("clipped", &floats, 1, 0), SLIPWAY_OK) << slipway_error_message();
  ExpectRefused(slipway_configure_team("clipped", R"({"gpu_exchange": "nccl", "clip_norm": 1})"),
                SLIPWAY_ERROR_ARGUMENT, "cannot be exchanged by NCCL");
  EXPECT_EQ(slipway_unregister("clipped"), SLIPWAY_OK) << slipway_error_message();
  ASSERT_EQ(slipway_register("integers", &integers, 1, 0), SLIPWAY_OK) << slipway_error_message();
  ExpectRefused(slipway_configure_team("integers", R"({"gpu_exchange": "nccl", "op": "sum"})"), SLIPWAY_ERROR_ARGUMENT,
                "tensor 'count' of int64 is not for NCCL");
  EXPECT_EQ(slipway_unregister("integers"), SLIPWAY_OK) << slipway_error_message();
}

/// What NCCL says reaches all ranks, with the name of the rank.
TEST_F(Nccl, AnErrorAtTheStartIsThatOfAllRanks) {
  const std::int64_t shape[] = {4};
  GpuBuffer buffer(16);
  const slipway_tensor tensor{"bias", SLIPWAY_FLOAT32, 1, shape, buffer.data()};
  ASSERT_EQ(slipway_register("refused", &tensor, 1, 0), SLIPWAY_OK) << slipway_error_message();
  if (Rank() == 0) fake_nccl_fail_call("ncclCommInitRankConfig", 1, kSystemError);
  ExpectRefused(slipway_configure_team("refused", R"({"gpu_exchange": "nccl"})"), SLIPWAY_ERROR_DEVICE,
                "ncclCommInitRankConfig failed: unhandled system error (ncclResult_t 2)");
  if (Rank() == 0) fake_nccl_fail_call("ncclGetUniqueId", 1, kSystemError);
  ExpectRefused(slipway_configure_team("refused", R"({"gpu_exchange": "nccl"})"), SLIPWAY_ERROR_DEVICE,
                "ncclGetUniqueId failed");
  ASSERT_EQ(slipway_configure_team("refused", R"({"gpu_exchange": "nccl"})"), SLIPWAY_OK) << slipway_error_message();
  EXPECT_EQ(slipway_gradients("refused"), SLIPWAY_OK) << slipway_error_message();
  EXPECT_EQ(slipway_unregister("refused"), SLIPWAY_OK);
}

}  // namespace
}  // namespace slipway::test
