// Tensors in the memory of a GPU: ranks that are late, operations that begin before the last one has ended.

#include <sys/resource.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "tests/runtime/device/gpu_program.h"

namespace slipway::test {
namespace {

using namespace fake_gpu;  // the entries that the program calls

/// One tensor, exchanged as a sum.
class LoneTensor {
 public:
  LoneTensor(const char* gpu_exchange, unsigned seed) : values_(RandomBytes(SLIPWAY_FLOAT32, kCount, seed)) {
    const std::int64_t shape[] = {kCount};
    const slipway_tensor tensor{"lone", SLIPWAY_FLOAT32, 1, shape, buffer_.data()};
    const auto settings = std::string(R"({"op": "sum", "gpu_exchange": ")") + gpu_exchange + "\"}";
    EXPECT_EQ(slipway_register("lone", &tensor, 1, 0), SLIPWAY_OK) << slipway_error_message();
    EXPECT_EQ(slipway_configure_team("lone", settings.c_str()), SLIPWAY_OK) << slipway_error_message();
  }
  void Fill(void* stream) { buffer_.Fill(values_.data(), stream); }
  /// This rank begins `late` after the others.
  void Exchange(void* stream, std::chrono::milliseconds late = {}) {
    ASSERT_EQ(slipway_allreduce(values_.data(), kCount, SLIPWAY_FLOAT32, SLIPWAY_SUM, SLIPWAY_ALL), SLIPWAY_OK);
    std::this_thread::sleep_for(late);
    ASSERT_EQ(slipway_submit_on_stream("lone", 0, stream), SLIPWAY_OK) << slipway_error_message();
    ASSERT_EQ(slipway_wait_on_stream("lone", stream), SLIPWAY_OK) << slipway_error_message();
  }
  static void End() { EXPECT_EQ(slipway_unregister("lone"), SLIPWAY_OK) << slipway_error_message(); }
  bool IsRight(void* stream) { return buffer_.Read(stream) == values_; }

 private:
  static constexpr std::int64_t kCount = 3000;
  std::vector<char> values_;
  GpuBuffer buffer_{kCount * sizeof(float)};
};

/// Sums on a stream of their own.
class Sums {
 public:
  Sums(std::int64_t count, unsigned seed) : count_(count), values_(RandomBytes(SLIPWAY_FLOAT32, count, seed)) {
    there_.Fill(values_.data(), stream_.handle());
  }
  void SumOnCpu() {
    ASSERT_EQ(slipway_allreduce(values_.data(), count_, SLIPWAY_FLOAT32, SLIPWAY_SUM, SLIPWAY_ALL), SLIPWAY_OK);
  }
  void SumOnGpu() {
    ASSERT_EQ(slipway_allreduce_on_stream(there_.data(), count_, SLIPWAY_FLOAT32, SLIPWAY_SUM, SLIPWAY_ALL,
                                          stream_.handle()),
              SLIPWAY_OK)
        << slipway_error_message();
  }
  bool AreRight() { return there_.Read(stream_.handle()) == values_; }

 private:
  std::int64_t count_;
  std::vector<char> values_;
  GpuBuffer there_{static_cast<std::size_t>(count_) * sizeof(float)};
  GpuStream stream_;
};

/// A rank may be late, and its GPU slow.
class OrderOnDevice : public OnDevice {
 protected:
  OrderOnDevice() { fake_gpu_set_order(FAKE_GPU_LAZY, 0); }
  void TearDown() override {
    OnDevice::TearDown();
    Gpu::DelayKernels({});
  }
  /// How much later than the others this rank is, where one is.
  static std::chrono::milliseconds Lateness() { return std::chrono::milliseconds(Rank() == Ranks() - 1 ? 20 : 0); }
};

class OneTensorOnDevice : public OrderOnDevice, public testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(Ways, OneTensorOnDevice, testing::Values("staged", "auto"),
                         [](const auto& way) { return std::string(way.param); });

TEST_P(OneTensorOnDevice, IsWholeWhenItsTeamEndsBeforeTheCopies) {
  LoneTensor tensor(GetParam(), Seed(3, 0));
  GpuStream stream;
  tensor.Fill(stream.handle());
  tensor.Exchange(stream.handle());
  LoneTensor::End();
  EXPECT_TRUE(tensor.IsRight(stream.handle()));
}

/// The program does not order the streams.
TEST_P(OneTensorOnDevice, IsSubmittedAgainFromAnotherStream) {
  if (Ranks() == 1) GTEST_SKIP() << "a lone rank exchanges nothing";
  LoneTensor tensor(GetParam(), Seed(3, 1));
  GpuStream streams[2];
  tensor.Fill(streams[0].handle());
  for (auto& stream : streams) tensor.Exchange(stream.handle());
  EXPECT_TRUE(tensor.IsRight(streams[1].handle()));
  LoneTensor::End();
}

/// The program and the GPU of one rank are slower than those of the others.
TEST_P(OneTensorOnDevice, IsRightOnAllRanksWhereOneIsLate) {
  Gpu::DelayKernels(Lateness());
  LoneTensor tensor(GetParam(), Seed(3, 2));
  GpuStream stream;
  tensor.Fill(stream.handle());
  tensor.Exchange(stream.handle(), Lateness());
  EXPECT_TRUE(tensor.IsRight(stream.handle()));
  LoneTensor::End();
}

TEST_F(OrderOnDevice, AnAllreduceIsRightOnAllRanksWhereOneIsLate) {
  Gpu::DelayKernels(Lateness());
  Sums sums(40000, Seed(5, 0));  // combined by the GPUs
  for (int turn = 0; turn < 2; ++turn) {
    sums.SumOnCpu();
    std::this_thread::sleep_for(Lateness());
    sums.SumOnGpu();
    EXPECT_TRUE(sums.AreRight());
  }
}

/// A core that goes idle comes back slower than it went.
class WaitForAGpu : public OnDevice {
 protected:
  static constexpr std::int64_t kCount = 1'000'000;

  /// How often the program's thread slept while one step waited for a GPU that is slow.
  long SleepsIn(const char* settings) {
    GpuBuffer buffer(kCount * sizeof(float));
    GpuStream stream;
    const slipway_tensor tensor{"slow", SLIPWAY_FLOAT32, 1, &kCount, buffer.data()};
    EXPECT_EQ(slipway_register("slow", &tensor, 1, 0), SLIPWAY_OK) << slipway_error_message();
    EXPECT_EQ(slipway_configure_team("slow", settings), SLIPWAY_OK) << slipway_error_message();
    const std::vector<char> values(kCount * sizeof(float));
    buffer.Fill(values.data(), stream.handle());
    EXPECT_EQ(cuStreamSynchronize(stream.handle()), kSuccess);
    EXPECT_EQ(slipway_barrier(SLIPWAY_ALL), SLIPWAY_OK);
    const auto before = Sleeps();
    EXPECT_EQ(slipway_wait_on_stream("slow", stream.handle()), SLIPWAY_OK) << slipway_error_message();
    const auto slept = Sleeps() - before;
    EXPECT_EQ(cuStreamSynchronize(stream.handle()), kSuccess);
    EXPECT_EQ(slipway_unregister("slow"), SLIPWAY_OK) << slipway_error_message();
    return slept;
  }
  void TearDown() override {
    OnDevice::TearDown();
    Gpu::DelayKernels({});
    fake_gpu_set_order(FAKE_GPU_LAZY, 0);
  }

 private:
  static long Sleeps() {
    rusage usage{};
    EXPECT_EQ(::getrusage(RUSAGE_THREAD, &usage), 0);
    return usage.ru_nvcsw;
  }
};

constexpr long kFewSleeps = 50;  ///< a thread that sleeps between its looks does so more than a hundred times

TEST_F(WaitForAGpu, StaysAwakeForACopy) {
  if (Ranks() > 1) GTEST_SKIP() << "the team's thread waits, too, and may sleep";
  fake_gpu_use_bandwidth(0.25);  // 16 ms
  EXPECT_LT(SleepsIn(R"({"clip_norm": 1, "bucket_bytes": 1000000000})"), kFewSleeps);
}

TEST_F(WaitForAGpu, StaysAwakeForSums) {
  if (Ranks() != 2 || std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "in a crowd, threads sleep";
  fake_gpu_use_bandwidth(0);
  Gpu::DelayKernels(std::chrono::milliseconds(16));
  EXPECT_LT(SleepsIn(R"({"gpu_exchange": "direct"})"), kFewSleeps);
}

/// They take the same memory of the CPU one after the other.
TEST_F(OrderOnDevice, AnOperationBeginsBeforeTheCopiesOfTheLastOneHaveEnded) {
  constexpr std::int64_t kCount = 3000;
  const auto of_root = RandomBytes(SLIPWAY_FLOAT32, kCount, 8);
  GpuBuffer copies(of_root.size());
  const std::int64_t shape[] = {kCount};
  const slipway_tensor tensor{"copies", SLIPWAY_FLOAT32, 1, shape, copies.data()};
  copies.Fill(of_root.data(), nullptr);
  Sums sums[] = {{kCount, Seed(4, 0)}, {kCount, Seed(4, 1)}};
  for (int turn = 0; turn < 3; ++turn) {
    for (auto& each : sums) each.SumOnGpu();
    ASSERT_EQ(slipway_broadcast(&tensor, 1, 0, SLIPWAY_ALL), SLIPWAY_OK) << slipway_error_message();
    for (auto& each : sums) each.SumOnCpu();
  }
  EXPECT_EQ(copies.Read(nullptr), of_root);
  for (auto& each : sums) EXPECT_TRUE(each.AreRight());
}

}  // namespace
}  // namespace slipway::test
