// Tensors in the memory of a GPU: ranks that are late, and operations that begin before the last one has ended.

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/runtime/device/gpu_program.h"
#include "tests/runtime/device/uneven_shares.h"

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
  /// By a call without a stream, of what the default stream has made.
  void ExchangeBy(int (*call)(const char* team)) {
    ASSERT_EQ(slipway_allreduce(values_.data(), kCount, SLIPWAY_FLOAT32, SLIPWAY_SUM, SLIPWAY_ALL), SLIPWAY_OK);
    ASSERT_EQ(call("lone"), SLIPWAY_OK) << slipway_error_message();
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
    ASSERT_EQ(
        slipway_allreduce_on_stream(there_.data(), count_, SLIPWAY_FLOAT32, SLIPWAY_SUM, SLIPWAY_ALL, stream_.handle()),
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

/// Also for a stream that nothing orders after the default one.
TEST_P(OneTensorOnDevice, IsThereWhenACallWithoutAStreamReturns) {
  if (Ranks() == 1) GTEST_SKIP() << "a lone rank exchanges nothing";
  LoneTensor tensor(GetParam(), Seed(3, 3));
  for (const auto call : {slipway_gradients, slipway_wait}) {
    GpuStream stream;
    tensor.Fill(nullptr);
    tensor.ExchangeBy(call);
    EXPECT_TRUE(tensor.IsRight(stream.handle()));
  }
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

TEST_F(OrderOnDevice, AStagedResultIsOnItsWayWhenACallOnAStreamReturns) {
  if (Ranks() == 1) GTEST_SKIP() << "a lone rank exchanges nothing";
  LoneTensor tensor("staged", Seed(3, 4));
  GpuStream stream;
  tensor.Fill(stream.handle());
  tensor.Exchange(stream.handle());
  EXPECT_GT(fake_gpu_pending(), 0u);
  EXPECT_TRUE(tensor.IsRight(stream.handle()));
  LoneTensor::End();
}

TEST_F(OrderOnDevice, AnAllreduceIsRightOnAllRanksWhereOneIsLate) {
  Gpu::DelayKernels(Lateness());
  Sums sums(40000, Seed(5, 0));  // large enough for the GPUs
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
  /// In one of ten steps. On a busy machine the GPU may come too late in some, and be waited for asleep.
  long FewestSleepsIn(const char* settings) {
    auto fewest = SleepsIn(settings);
    for (int more = 0; more < 9; ++more) fewest = std::min(fewest, SleepsIn(settings));
    return fewest;
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
  EXPECT_LT(FewestSleepsIn(R"({"clip_norm": 1, "bucket_bytes": 1000000000})"), kFewSleeps);
}

TEST_F(WaitForAGpu, StaysAwakeForSums) {
  if (Ranks() != 2 || std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "in a crowd, threads sleep";
  fake_gpu_use_bandwidth(0);
  Gpu::DelayKernels(std::chrono::milliseconds(16));
  EXPECT_LT(FewestSleepsIn(R"({"gpu_exchange": "direct"})"), kFewSleeps);
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

/// Such an operation on a stream of its own.
class OnOwnStream {
 public:
  explicit OnOwnStream(const UnevenShares& shares) : shares_(shares) {}

  /// Other values are queued at once for what was sent. Returns how many bytes the GPU had got when the call returned.
  std::uint64_t CarryOut(unsigned seed) {
    const auto values = Random(seed);
    EXPECT_EQ(shares_.CarryOut(values.data(), expected_.data(), nullptr), SLIPWAY_OK) << slipway_error_message();
    send_.Fill(values.data(), stream_.handle());
    const auto before = fake_gpu_count(FAKE_GPU_BYTES_TO_DEVICE);
    EXPECT_EQ(shares_.CarryOut(send_.data(), receive_.data(), stream_.handle()), SLIPWAY_OK) << slipway_error_message();
    const auto got = fake_gpu_count(FAKE_GPU_BYTES_TO_DEVICE) - before;
    send_.Fill(Random(seed + 1).data(), stream_.handle());
    return got;
  }
  bool IsRight() { return receive_.Read(stream_.handle()) == expected_; }

 private:
  std::vector<char> Random(unsigned seed) const {
    return RandomBytes(SLIPWAY_FLOAT32, static_cast<std::int64_t>(shares_.sent() / sizeof(float)), seed);
  }

  const UnevenShares& shares_;
  GpuStream stream_;
  GpuBuffer send_{shares_.sent()};
  GpuBuffer receive_{shares_.received()};
  std::vector<char> expected_ = std::vector<char>(shares_.received());
};

class UnevenSharesOnDevice : public OrderOnDevice, public testing::WithParamInterface<SharesKind> {};
std::string NameOfKind(const testing::TestParamInfo<SharesKind>& info) {
  constexpr const char* kNames[] = {"reduce_scatter", "allgather", "alltoall"};
  return kNames[static_cast<int>(info.param)];
}
INSTANTIATE_TEST_SUITE_P(Kinds, UnevenSharesOnDevice,
                         testing::Values(SharesKind::kReduceScatter, SharesKind::kAllgather, SharesKind::kAlltoall),
                         NameOfKind);

TEST_P(UnevenSharesOnDevice, AreExchangedInTheOrderOfTheirStream) {
  const UnevenShares shares(GetParam());
  for (const auto order : {FAKE_GPU_LAZY, FAKE_GPU_EAGER, FAKE_GPU_RANDOM}) {
    fake_gpu_set_order(order, 7);
    OnOwnStream two[] = {OnOwnStream(shares), OnOwnStream(shares)};
    std::uint64_t least = ~std::uint64_t{0};  // in the first turns memory that is too small is freed, which waits
    for (int turn = 0; turn < 6; ++turn) {
      least = std::min(least, two[0].CarryOut(Seed(6, turn)));
      two[1].CarryOut(Seed(7, turn));
      for (auto& each : two) EXPECT_TRUE(each.IsRight()) << "order " << order << ", turn " << turn;
    }
    if (order == FAKE_GPU_LAZY) {
      EXPECT_EQ(least, shares.sent()) << "each call has waited for its result";
    }
  }
}

/// Only the root waits for its stream.
TEST_F(OrderOnDevice, ABroadcastComesInTheOrderOfItsStream) {
  constexpr std::int64_t kCount = 3000;
  for (const auto order : {FAKE_GPU_LAZY, FAKE_GPU_EAGER, FAKE_GPU_RANDOM}) {
    fake_gpu_set_order(order, 8);
    GpuBuffer buffer(kCount * sizeof(float));
    GpuStream stream;
    const slipway_tensor tensor{"copies", SLIPWAY_FLOAT32, 1, &kCount, buffer.data()};
    // Bytes that a call has brought to the GPU, by whether this rank is the root. In the first turns memory that is too
    // small may be freed, which waits.
    std::uint64_t least[] = {~std::uint64_t{0}, ~std::uint64_t{0}};
    for (int turn = 0; turn < 4 * Ranks(); ++turn) {
      const int root = turn % Ranks();
      const auto of_root = RandomBytes(SLIPWAY_FLOAT32, kCount, 20 + static_cast<unsigned>(turn));
      const auto own = Rank() == root ? of_root : RandomBytes(SLIPWAY_FLOAT32, kCount, Seed(8, turn));
      buffer.Fill(own.data(), stream.handle());
      const auto before = fake_gpu_count(FAKE_GPU_BYTES_TO_DEVICE);
      ASSERT_EQ(slipway_broadcast_on_stream(&tensor, 1, root, SLIPWAY_ALL, stream.handle()), SLIPWAY_OK)
          << slipway_error_message();
      auto& of_role = least[Rank() == root ? 1 : 0];
      of_role = std::min(of_role, fake_gpu_count(FAKE_GPU_BYTES_TO_DEVICE) - before);
      EXPECT_EQ(buffer.Read(stream.handle()), of_root) << "order " << order << ", turn " << turn;
    }
    if (order != FAKE_GPU_LAZY) continue;
    EXPECT_EQ(least[1], kCount * sizeof(float)) << "the root has not waited for its stream";
    if (Ranks() > 1) {
      EXPECT_EQ(least[0], 0u) << "a rank that is no root has waited";
    }
  }
}

/// More than the library keeps memory for: then it waits for the oldest one.
TEST_F(OrderOnDevice, ResultsOfManyStreamsAreOnTheirWay) {
  constexpr std::int64_t kCount = 3000;
  struct OfStream {
    GpuStream stream;
    GpuBuffer buffer{kCount * sizeof(float)};
    std::vector<char> of_root;
  };
  std::vector<std::unique_ptr<OfStream>> all;
  for (unsigned i = 0; i < 10; ++i) {
    auto& each = *all.emplace_back(std::make_unique<OfStream>());
    each.of_root = RandomBytes(SLIPWAY_FLOAT32, kCount, 30 + i);
    const auto own = Rank() == 0 ? each.of_root : RandomBytes(SLIPWAY_FLOAT32, kCount, Seed(9, static_cast<int>(i)));
    each.buffer.Fill(own.data(), each.stream.handle());
    const slipway_tensor tensor{"copies", SLIPWAY_FLOAT32, 1, &kCount, each.buffer.data()};
    ASSERT_EQ(slipway_broadcast_on_stream(&tensor, 1, 0, SLIPWAY_ALL, each.stream.handle()), SLIPWAY_OK)
        << slipway_error_message();
  }
  for (const auto& each : all) EXPECT_EQ(each->buffer.Read(each->stream.handle()), each->of_root);
}

}  // namespace
}  // namespace slipway::test
