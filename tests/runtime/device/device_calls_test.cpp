// How many calls to the driver a step costs: a call costs more time than a small gradient takes to travel.

#include <cstdlib>
#include <memory>
#include <numeric>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "tests/runtime/device/gpu_program.h"
#include "tests/runtime/device/uneven_shares.h"

namespace slipway::test {
namespace {

/// What a step calls, whatever the speed of the GPU. That decides how often an event is asked for, and how many events
/// are in use at a time.
struct Calls {
  std::uint64_t records = fake_gpu_calls("cuEventRecord");
  std::uint64_t stream_waits = fake_gpu_calls("cuStreamWaitEvent");
  std::uint64_t to_cpu = fake_gpu_calls("cuMemcpyDtoHAsync_v2");
  std::uint64_t to_gpu = fake_gpu_calls("cuMemcpyHtoDAsync_v2");
  std::uint64_t kernels = fake_gpu_calls("cuLaunchKernel");
  std::uint64_t others = fake_gpu_calls("cuPointerGetAttribute") + fake_gpu_calls("cuMemcpyDtoDAsync_v2") +
                         fake_gpu_calls("cuStreamSynchronize");

  bool operator==(const Calls&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Calls& calls) {
  return out << calls.records << " records, " << calls.stream_waits << " waits of a stream, " << calls.to_cpu
             << " copies to the CPU, " << calls.to_gpu << " to the GPU, " << calls.kernels << " kernels, "
             << calls.others << " others";
}

Calls Since(const Calls& before) {
  Calls now;
  now.records -= before.records;
  now.stream_waits -= before.stream_waits;
  now.to_cpu -= before.to_cpu;
  now.to_gpu -= before.to_gpu;
  now.kernels -= before.kernels;
  now.others -= before.others;
  return now;
}

/// 161 gradients, as many as ResNet-50 has. In one block without a gap, as slipway.torch places them, or each in memory
/// of its own.
class ManySmall : public OnDevice, public testing::WithParamInterface<bool> {
 protected:
  static constexpr int kTensors = 161;
  static constexpr std::int64_t kCount = 100;

  void SetUp() override {
    if (Ranks() == 1) GTEST_SKIP() << "a lone rank exchanges nothing";
    for (int i = 0; i < kTensors; ++i) {
      char* data = GetParam() ? static_cast<char*>(block_.data()) + i * kBytes : nullptr;
      if (data == nullptr) {
        own_.push_back(std::make_unique<GpuBuffer>(kBytes));
        data = static_cast<char*>(own_.back()->data());
      }
      names_.push_back("t" + std::to_string(i));
      data_.push_back(data);
    }
    for (int i = 0; i < kTensors; ++i) {
      tensors_.push_back({names_[static_cast<std::size_t>(i)].c_str(), SLIPWAY_FLOAT32, 1, &kCount,
                          data_[static_cast<std::size_t>(i)]});
    }
    indices_.resize(kTensors);
    std::iota(indices_.begin(), indices_.end(), 0);
  }
  void Register(const char* settings) {
    ASSERT_EQ(slipway_register("many", tensors_.data(), kTensors, 0), SLIPWAY_OK) << slipway_error_message();
    ASSERT_EQ(slipway_configure_team("many", settings), SLIPWAY_OK) << slipway_error_message();
    Step(true);  // the first one also makes things
  }
  /// Where the GPUs combine. `arrivals`: records of what makes values.
  static Calls OfDirect(std::uint64_t arrivals, std::uint64_t buckets) {
    const auto ranks = static_cast<std::uint64_t>(Ranks());
    // By events, the GPU waits for all values of a bucket, and the program's stream for all sums.
    return {.records = arrivals + (ByEvents() ? 2u : 1u),
            .stream_waits = ByEvents() ? ranks * (buckets + 1) : 0u,
            .to_cpu = 0,
            .to_gpu = 0,
            .kernels = buckets,
            .others = 0};
  }
  /// In one call for all, or one for each.
  Calls Step(bool together) {
    const Calls before;
    if (together) {
      EXPECT_EQ(slipway_submit_many_on_stream("many", indices_.data(), kTensors, stream_.handle()), SLIPWAY_OK)
          << slipway_error_message();
    } else {
      for (const int index : indices_) {
        EXPECT_EQ(slipway_submit_on_stream("many", index, stream_.handle()), SLIPWAY_OK) << slipway_error_message();
      }
    }
    EXPECT_EQ(slipway_wait_on_stream("many", stream_.handle()), SLIPWAY_OK) << slipway_error_message();
    return Since(before);
  }

  std::vector<int> indices_;

 private:
  static constexpr std::size_t kBytes = kCount * sizeof(float);

  GpuStream stream_;
  GpuBuffer block_{kTensors * kBytes};
  std::vector<std::unique_ptr<GpuBuffer>> own_;
  std::vector<std::string> names_;
  std::vector<char*> data_;
  std::vector<slipway_tensor> tensors_;
};
INSTANTIATE_TEST_SUITE_P(Memory, ManySmall, testing::Bool(),
                         [](const auto& each) { return each.param ? "one_block" : "apart"; });

TEST_P(ManySmall, CostFewCallsWhereTheGpusCombine) {
  Register(R"({"gpu_exchange": "direct"})");
  EXPECT_EQ(Step(true), OfDirect(1, 1));
  EXPECT_EQ(Step(false), OfDirect(kTensors, 1));
  EXPECT_EQ(slipway_unregister("many"), SLIPWAY_OK) << slipway_error_message();
}

/// One meeting of the ranks closes a step, and so one event.
TEST_P(ManySmall, OfSeveralBucketsCloseAStepTogether) {
  Register(R"({"gpu_exchange": "direct", "bucket_bytes": 20000})");
  EXPECT_EQ(Step(true), OfDirect(ByEvents() ? 4 : 1, 4));
  EXPECT_EQ(slipway_unregister("many"), SLIPWAY_OK) << slipway_error_message();
}

TEST_P(ManySmall, CostFewCallsThroughTheCpu) {
  Register(R"({"gpu_exchange": "staged"})");
  const std::uint64_t copies = GetParam() ? 1 : kTensors;
  EXPECT_EQ(Step(true),
            (Calls{.records = 3, .stream_waits = 3, .to_cpu = copies, .to_gpu = copies, .kernels = 0, .others = 0}));
  EXPECT_EQ(slipway_unregister("many"), SLIPWAY_OK) << slipway_error_message();
}

TEST_P(ManySmall, AreRefusedTogether) {
  Register(R"({"gpu_exchange": "staged"})");
  const int twice[] = {3, 4, 3};
  EXPECT_EQ(slipway_submit_many_on_stream("many", twice, 3, nullptr), SLIPWAY_ERROR_ARGUMENT);
  EXPECT_NE(std::string(slipway_error_message()).find("tensor 't3' is submitted twice"), std::string::npos);
  const int unknown[] = {3, kTensors};
  EXPECT_EQ(slipway_submit_many_on_stream("many", unknown, 2, nullptr), SLIPWAY_ERROR_ARGUMENT);
  EXPECT_EQ(slipway_submit_many_on_stream("many", nullptr, 2, nullptr), SLIPWAY_ERROR_ARGUMENT);
  EXPECT_EQ(slipway_submit_many_on_stream("many", unknown, -1, nullptr), SLIPWAY_ERROR_ARGUMENT);
  EXPECT_EQ(slipway_submit_many_on_stream("many", nullptr, 0, nullptr), SLIPWAY_OK) << slipway_error_message();
  Step(true);  // none was submitted so far
  EXPECT_EQ(slipway_unregister("many"), SLIPWAY_OK) << slipway_error_message();
}

/// Buckets are filled from the last tensor. So what fills the first one is not fetched together with the rest.
TEST_F(OnDevice, TheFirstBucketDoesNotWaitForTheOthers) {
  if (Ranks() == 1) GTEST_SKIP() << "a lone rank exchanges nothing";
  constexpr std::int64_t kFew = 100;
  constexpr std::int64_t kBucket = 5000;
  GpuBuffer few(kFew * sizeof(float));
  GpuBuffer bucket(kBucket * sizeof(float));
  const slipway_tensor tensors[] = {{"few", SLIPWAY_FLOAT32, 1, &kFew, few.data()},
                                    {"bucket", SLIPWAY_FLOAT32, 1, &kBucket, bucket.data()}};
  ASSERT_EQ(slipway_register("two", tensors, 2, 0), SLIPWAY_OK) << slipway_error_message();
  ASSERT_EQ(slipway_configure_team("two", R"({"gpu_exchange": "staged", "bucket_bytes": 20000})"), SLIPWAY_OK)
      << slipway_error_message();
  for (int step = 0; step < 2; ++step) {
    const Calls before;
    ASSERT_EQ(slipway_gradients("two"), SLIPWAY_OK) << slipway_error_message();
    const auto records = Since(before).records;
    if (step == 0) continue;  // the first one also makes things
    EXPECT_EQ(records, 4u) << "not: the program's stream, each of the two, the copies back";
  }
  EXPECT_EQ(slipway_unregister("two"), SLIPWAY_OK) << slipway_error_message();
}

/// After the first one of a length: by the GPUs where they are named or faster, and by the CPU in one part and in
/// several.
TEST_F(OnDevice, AnAllreduceNeverStopsTheGpu) {
  for (const auto& [op, count] :
       {std::pair(SLIPWAY_SUM, 400'000), std::pair(SLIPWAY_MAX, 3000), std::pair(SLIPWAY_MAX, 3'000'007)}) {
    auto here = RandomBytes(SLIPWAY_FLOAT32, count, Seed(1, 2));
    GpuBuffer there(here.size());
    GpuStream stream;
    for (int turn = 0; turn < 3; ++turn) {
      there.Fill(here.data(), stream.handle());
      const auto before = StopsOfTheGpu();
      ASSERT_EQ(slipway_allreduce_on_stream(there.data(), count, SLIPWAY_FLOAT32, op, SLIPWAY_ALL, stream.handle()),
                SLIPWAY_OK)
          << slipway_error_message();
      if (turn > 0) {
        EXPECT_EQ(StopsOfTheGpu(), before) << "op " << op << " of " << count;
      }
    }
    ASSERT_EQ(slipway_allreduce(here.data(), count, SLIPWAY_FLOAT32, op, SLIPWAY_ALL), SLIPWAY_OK);
    EXPECT_TRUE(there.Read(stream.handle()) == here) << "op " << op << " of " << count;
  }
}

/// Turns in which a call may make the memory that the next ones travel through.
constexpr int kFirstTurns = 10;

TEST_F(OnDevice, AnExchangeOfSharesNeverStopsTheGpu) {
  for (const auto kind : {SharesKind::kReduceScatter, SharesKind::kAllgather, SharesKind::kAlltoall}) {
    const UnevenShares shares(kind);
    GpuBuffer send(shares.sent());
    GpuBuffer receive(shares.received());
    GpuStream stream;
    const auto values =
        RandomBytes(SLIPWAY_FLOAT32, static_cast<std::int64_t>(shares.sent() / sizeof(float)), Seed(1, 3));
    std::vector<char> wanted(shares.received());
    ASSERT_EQ(shares.CarryOut(values.data(), wanted.data(), nullptr), SLIPWAY_OK) << slipway_error_message();
    for (int turn = 0; turn < kFirstTurns + 3; ++turn) {
      send.Fill(values.data(), stream.handle());
      const auto before = StopsOfTheGpu();
      ASSERT_EQ(shares.CarryOut(send.data(), receive.data(), stream.handle()), SLIPWAY_OK) << slipway_error_message();
      if (turn >= kFirstTurns) {
        EXPECT_EQ(StopsOfTheGpu(), before) << "kind " << static_cast<int>(kind);
      }
      EXPECT_TRUE(receive.Read(stream.handle()) == wanted) << "kind " << static_cast<int>(kind);
    }
  }
}

TEST_F(OnDevice, ABroadcastNeverStopsTheGpu) {
  constexpr std::int64_t kCount = 3000;
  const auto of_root = RandomBytes(SLIPWAY_FLOAT32, kCount, 9);
  GpuBuffer buffer(of_root.size());
  GpuStream stream;
  const slipway_tensor tensor{"copies", SLIPWAY_FLOAT32, 1, &kCount, buffer.data()};
  for (int turn = 0; turn < kFirstTurns + 3; ++turn) {
    const auto own = RandomBytes(SLIPWAY_FLOAT32, kCount, Seed(1, 4));
    buffer.Fill(Rank() == 0 ? of_root.data() : own.data(), stream.handle());
    const auto before = StopsOfTheGpu();
    ASSERT_EQ(slipway_broadcast_on_stream(&tensor, 1, 0, SLIPWAY_ALL, stream.handle()), SLIPWAY_OK)
        << slipway_error_message();
    if (turn >= kFirstTurns) {
      EXPECT_EQ(StopsOfTheGpu(), before);
    }
    EXPECT_EQ(buffer.Read(stream.handle()), of_root);
  }
}

/// On several nodes it is one message. To pin it costs more than to copy it.
TEST_F(OnDevice, ALongAllreducePinsItsMemoryOnce) {
  if (std::getenv("SLIPWAY_RANKS_PER_NODE") == nullptr) GTEST_SKIP() << "on one node it travels in parts";
  constexpr std::int64_t kLarge = 18'000'000;  // 72 MB
  const auto set = [](float value) { return std::vector<float>(kLarge, value); };
  const auto own = set(static_cast<float>(Rank() + 1));
  GpuBuffer buffer(kLarge * sizeof(float));
  GpuStream stream;
  std::uint64_t pinned = 0;
  for (const bool first : {true, false}) {
    buffer.Fill(own.data(), stream.handle());
    pinned = first ? 0 : fake_gpu_calls("cuMemHostRegister_v2");
    ASSERT_EQ(
        slipway_allreduce_on_stream(buffer.data(), kLarge, SLIPWAY_FLOAT32, SLIPWAY_SUM, SLIPWAY_ALL, stream.handle()),
        SLIPWAY_OK)
        << slipway_error_message();
  }
  EXPECT_EQ(fake_gpu_calls("cuMemHostRegister_v2"), pinned);
  const auto sum = set(static_cast<float>(Ranks() * (Ranks() + 1) / 2));
  EXPECT_EQ(std::memcmp(buffer.Read(stream.handle()).data(), sum.data(), kLarge * sizeof(float)), 0);
}

}  // namespace
}  // namespace slipway::test
