// Memory of a GPU that is not as cuMemAlloc gives it, GPUs without memory left, GPUs that do not reach each other
// rightly, and streams that are captured.

#include <memory>
#include <string>
#include <vector>

#include "tests/runtime/device/gpu_program.h"
#include "tests/runtime/device/gpu_team.h"

namespace slipway::test {
namespace {

using namespace fake_gpu;  // the entries that the program calls

constexpr std::int64_t kKindsCount = 40'000;
constexpr std::int64_t kLargeCount = 262'144;  ///< 1 MiB: large enough for the GPUs

/// The sums of all ranks' values, by the CPU.
std::vector<char> SumsOf(std::vector<char> values) {
  const auto count = static_cast<std::int64_t>(values.size() / sizeof(float));
  EXPECT_EQ(slipway_allreduce(values.data(), count, SLIPWAY_FLOAT32, SLIPWAY_SUM, SLIPWAY_ALL), SLIPWAY_OK);
  return values;
}

void SumOnStream(void* data, std::int64_t count, void* stream) {
  ASSERT_EQ(slipway_allreduce_on_stream(data, count, SLIPWAY_FLOAT32, SLIPWAY_SUM, SLIPWAY_ALL, stream), SLIPWAY_OK)
      << slipway_error_message();
}

void RegisterSums(void* data) {
  const slipway_tensor tensor{"a", SLIPWAY_FLOAT32, 1, &kKindsCount, data};
  ASSERT_EQ(slipway_register("sums", &tensor, 1, 0), SLIPWAY_OK) << slipway_error_message();
  ASSERT_EQ(slipway_configure_team("sums", R"({"op": "sum"})"), SLIPWAY_OK) << slipway_error_message();
}

/// A group of all ranks, which has made no allreduce yet.
class FreshGroup {
 public:
  FreshGroup() {
    std::vector<int> ranks(static_cast<std::size_t>(Ranks()));
    for (int rank = 0; rank < Ranks(); ++rank) ranks[static_cast<std::size_t>(rank)] = rank;
    EXPECT_EQ(slipway_group_create(ranks.data(), Ranks(), &group_), SLIPWAY_OK) << slipway_error_message();
  }
  FreshGroup(const FreshGroup&) = delete;
  FreshGroup& operator=(const FreshGroup&) = delete;
  ~FreshGroup() { EXPECT_EQ(slipway_group_free(group_), SLIPWAY_OK) << slipway_error_message(); }

  /// One allreduce of 1 MiB; whether the sums are right.
  bool SumIsRight(unsigned seed) {
    const auto values = RandomBytes(SLIPWAY_FLOAT32, kLargeCount, seed);
    there_.Fill(values.data(), stream_.handle());
    const int result =
        slipway_allreduce_on_stream(there_.data(), kLargeCount, SLIPWAY_FLOAT32, SLIPWAY_SUM, group_, stream_.handle());
    EXPECT_EQ(result, SLIPWAY_OK) << slipway_error_message();
    return there_.Read(stream_.handle()) == SumsOf(values);
  }
  /// The same, without a kernel.
  void ExpectSumByCpu(unsigned seed) {
    const auto kernels = fake_gpu_calls("cuLaunchKernel");
    EXPECT_TRUE(SumIsRight(seed));
    EXPECT_EQ(fake_gpu_calls("cuLaunchKernel"), kernels) << "the GPUs have added up";
  }

 private:
  int group_ = 0;
  GpuBuffer there_{kLargeCount * sizeof(float)};
  GpuStream stream_;
};

/// As torch has it with expandable_segments, and CuPy with its asynchronous pool.
class MemoryOfNoContext : public OnDevice {
 protected:
  static std::unique_ptr<GpuBuffer> Make(std::int64_t count) {
    fake_gpu_allocate_in_pools(1);
    auto made = std::make_unique<GpuBuffer>(static_cast<std::size_t>(count) * sizeof(float));
    fake_gpu_allocate_in_pools(0);
    return made;
  }
};

TEST_F(MemoryOfNoContext, IsExchangedByATeam) {
  for (const auto order : {FAKE_GPU_LAZY, FAKE_GPU_EAGER, FAKE_GPU_RANDOM}) {
    fake_gpu_set_order(order, 3);
    const auto buffer = Make(kKindsCount);
    RegisterSums(buffer->data());
    GpuStream stream;
    for (int step = 0; step < 3; ++step) {
      const auto values = RandomBytes(SLIPWAY_FLOAT32, kKindsCount, Seed(step, 0));
      buffer->Fill(values.data(), stream.handle());
      const auto copies = fake_gpu_calls("cuMemcpyDtoHAsync_v2");
      ASSERT_EQ(slipway_submit_on_stream("sums", 0, stream.handle()), SLIPWAY_OK) << slipway_error_message();
      ASSERT_EQ(slipway_wait_on_stream("sums", stream.handle()), SLIPWAY_OK) << slipway_error_message();
      EXPECT_EQ(fake_gpu_calls("cuMemcpyDtoHAsync_v2") > copies, Ranks() > 1) << "not staged";
      EXPECT_TRUE(buffer->Read(stream.handle()) == SumsOf(values)) << "step " << step << ", order " << order;
    }
    ASSERT_EQ(slipway_unregister("sums"), SLIPWAY_OK) << slipway_error_message();
  }
}

TEST_F(MemoryOfNoContext, IsAddedUpByAnAllreduceAndBroadcast) {
  for (const std::int64_t count : {1000L, kKindsCount, kLargeCount}) {
    const auto buffer = Make(count);
    GpuStream stream;
    const auto values = RandomBytes(SLIPWAY_FLOAT32, count, Seed(1, 1));
    buffer->Fill(values.data(), stream.handle());
    SumOnStream(buffer->data(), count, stream.handle());
    EXPECT_TRUE(buffer->Read(stream.handle()) == SumsOf(values)) << count;
  }
  const auto of_root = RandomBytes(SLIPWAY_FLOAT32, kKindsCount, 9);
  const auto buffer = Make(kKindsCount);
  buffer->Fill(Rank() == 0 ? of_root.data() : std::vector<char>(of_root.size()).data(), nullptr);
  const slipway_tensor tensor{"weight", SLIPWAY_FLOAT32, 1, &kKindsCount, buffer->data()};
  ASSERT_EQ(slipway_broadcast(&tensor, 1, 0, SLIPWAY_ALL), SLIPWAY_OK) << slipway_error_message();
  EXPECT_EQ(buffer->Read(nullptr), of_root);
}

/// The CPU reads and writes it itself.
class ManagedMemory : public OnDevice {
 protected:
  ManagedMemory() {
    fake_gpu_set_order(FAKE_GPU_LAZY, 0);
    EXPECT_EQ(cuMemAllocManaged(&memory_, kKindsCount * sizeof(float), 1), kSuccess);
    view_ = std::make_unique<GpuView>(data(), kKindsCount * sizeof(float));
    values_ = RandomBytes(SLIPWAY_FLOAT32, kKindsCount, Seed(6, 0));
  }
  ~ManagedMemory() override { EXPECT_EQ(cuMemFree_v2(memory_), kSuccess); }
  void* data() const { return reinterpret_cast<void*>(memory_); }
  /// Queued, and not carried out before something waits for it.
  void Fill(void* stream) { view_->Fill(values_.data(), stream); }

  std::vector<char> values_;
  std::unique_ptr<GpuView> view_;

 private:
  DevicePointer memory_ = 0;
};

TEST_F(ManagedMemory, IsReadByAnAllreduceAfterItsStream) {
  GpuStream stream;
  for (void* each : {stream.handle(), static_cast<void*>(nullptr)}) {
    Fill(each);
    SumOnStream(data(), kKindsCount, each);
    EXPECT_TRUE(view_->Read(each) == SumsOf(values_));
  }
}

TEST_F(ManagedMemory, IsReadByATeamAfterItsStream) {
  RegisterSums(data());
  GpuStream stream;
  for (const bool submitted : {true, false}) {
    for (void* each : {stream.handle(), static_cast<void*>(nullptr)}) {
      Fill(each);
      if (submitted) {
        ASSERT_EQ(slipway_submit_on_stream("sums", 0, each), SLIPWAY_OK) << slipway_error_message();
      }
      ASSERT_EQ(slipway_wait_on_stream("sums", each), SLIPWAY_OK) << slipway_error_message();
      EXPECT_TRUE(view_->Read(each) == SumsOf(values_)) << submitted;
    }
  }
  ASSERT_EQ(slipway_unregister("sums"), SLIPWAY_OK) << slipway_error_message();
}

TEST_F(ManagedMemory, IsReadByOtherCollectivesAfterTheDefaultStream) {
  values_ = RandomBytes(SLIPWAY_FLOAT32, kKindsCount, 9);
  Fill(nullptr);
  const slipway_tensor tensor{"weight", SLIPWAY_FLOAT32, 1, &kKindsCount, data()};
  EXPECT_EQ(slipway_check_match(&tensor, 1), SLIPWAY_OK) << slipway_error_message();
  const auto of_root = RandomBytes(SLIPWAY_FLOAT32, kKindsCount, 10);
  if (Rank() == 0) values_ = of_root;
  Fill(nullptr);  // what is queued on the other ranks comes before what they receive
  ASSERT_EQ(slipway_broadcast(&tensor, 1, 0, SLIPWAY_ALL), SLIPWAY_OK) << slipway_error_message();
  EXPECT_TRUE(view_->Read(nullptr) == of_root);
}

TEST_F(ManagedMemory, IsBroadcastAfterAStream) {
  GpuStream stream;
  const auto of_root = RandomBytes(SLIPWAY_FLOAT32, kKindsCount, 13);
  values_ = Rank() == 0 ? of_root : RandomBytes(SLIPWAY_FLOAT32, kKindsCount, Seed(13, 0));
  Fill(stream.handle());
  const slipway_tensor tensor{"weight", SLIPWAY_FLOAT32, 1, &kKindsCount, data()};
  ASSERT_EQ(slipway_broadcast_on_stream(&tensor, 1, 0, SLIPWAY_ALL, stream.handle()), SLIPWAY_OK)
      << slipway_error_message();
  EXPECT_TRUE(view_->Read(stream.handle()) == of_root);
}

TEST_F(ManagedMemory, IsSubmittedFromAndAtAfterTheDefaultStream) {
  std::vector<float> here(kKindsCount);
  RegisterSums(here.data());
  Fill(nullptr);
  ASSERT_EQ(slipway_submit_from("sums", 0, data()), SLIPWAY_OK) << slipway_error_message();
  ASSERT_EQ(slipway_wait("sums"), SLIPWAY_OK) << slipway_error_message();
  EXPECT_EQ(std::memcmp(here.data(), SumsOf(values_).data(), values_.size()), 0);
  Fill(nullptr);
  ASSERT_EQ(slipway_submit_at("sums", 0, data()), SLIPWAY_OK) << slipway_error_message();
  ASSERT_EQ(slipway_wait("sums"), SLIPWAY_OK) << slipway_error_message();
  EXPECT_TRUE(view_->Read(nullptr) == SumsOf(values_));
  ASSERT_EQ(slipway_unregister("sums"), SLIPWAY_OK) << slipway_error_message();
}

TEST_F(ManagedMemory, IsReadAndWrittenByAParameterServerAfterTheDefaultStream) {
  const auto of_root = RandomBytes(SLIPWAY_FLOAT32, kKindsCount, 11);
  if (Rank() == 0) values_ = of_root;
  Fill(nullptr);
  const slipway_tensor tensor{"weight", SLIPWAY_FLOAT32, 1, &kKindsCount, data()};
  ASSERT_EQ(slipway_server_create("weights", &tensor, 1, 0.1, 0), SLIPWAY_OK) << slipway_error_message();
  for (const bool queued : {false, true}) {
    if (queued) Fill(nullptr);
    ASSERT_EQ(slipway_server_pull("weights"), SLIPWAY_OK) << slipway_error_message();
    EXPECT_EQ(std::memcmp(data(), of_root.data(), of_root.size()), 0) << queued;
    EXPECT_TRUE(view_->Read(nullptr) == of_root) << queued;
  }
  ASSERT_EQ(slipway_server_free("weights"), SLIPWAY_OK) << slipway_error_message();
}

/// Of a team in CPU memory.
using MemoryOfAGpu = OnDevice;

TEST_F(MemoryOfAGpu, IsNoDataToSubmitFromOrAt) {
  std::vector<float> here(kKindsCount);
  RegisterSums(here.data());
  GpuBuffer there(kKindsCount * sizeof(float));
  constexpr auto kText = "the data lies in the memory of a GPU: copy it to the CPU's memory first";
  ExpectRefused(slipway_submit_from("sums", 0, there.data()), SLIPWAY_ERROR_DEVICE_MEMORY, kText);
  ExpectRefused(slipway_submit_at("sums", 0, there.data()), SLIPWAY_ERROR_DEVICE_MEMORY, kText);
  ASSERT_EQ(slipway_wait("sums"), SLIPWAY_OK) << slipway_error_message();  // none was submitted so far
  ASSERT_EQ(slipway_unregister("sums"), SLIPWAY_OK) << slipway_error_message();
}

/// Of several ranks.
class GpusOfANode : public OnDevice {
 protected:
  void SetUp() override {
    if (Ranks() == 1) GTEST_SKIP() << "a lone rank exchanges nothing";
  }
};

TEST_F(GpusOfANode, WithoutMemoryForABlockLeaveAnAllreduceToTheCpu) {
  FreshGroup group;
  if (Rank() == 1) fake_gpu_fail_call("cuMemAlloc_v2", 1, kOutOfMemory);
  EXPECT_TRUE(group.SumIsRight(Seed(2, 0)));
  group.ExpectSumByCpu(Seed(2, 1));
}

/// Behind an IOMMU that changes the addresses between GPUs, on one rank.
TEST_F(GpusOfANode, ThatGiveWrongSumsOfEachOthersMemoryLeaveThemToTheCpu) {
  testing::internal::CaptureStderr();
  fake_gpu_spoil_peers(Rank() == 1 ? 1 : 0);
  GpuBuffer buffer(kKindsCount * sizeof(float));
  GpuStream stream;
  RegisterSums(buffer.data());
  FreshGroup group;
  const auto values = RandomBytes(SLIPWAY_FLOAT32, kKindsCount, Seed(3, 0));
  buffer.Fill(values.data(), stream.handle());
  ASSERT_EQ(slipway_wait_on_stream("sums", stream.handle()), SLIPWAY_OK) << slipway_error_message();
  EXPECT_TRUE(buffer.Read(stream.handle()) == SumsOf(values));
  EXPECT_TRUE(group.SumIsRight(Seed(3, 1)));
  group.ExpectSumByCpu(Seed(3, 2));
  ASSERT_EQ(slipway_unregister("sums"), SLIPWAY_OK) << slipway_error_message();
  fake_gpu_spoil_peers(0);
  const auto words = testing::internal::GetCapturedStderr();
  const std::string warning = "of rank 1 gives wrong sums of the other ranks' GPU memory: the exchange goes through";
  const auto at = words.find(warning);
  EXPECT_EQ(at != std::string::npos, Rank() == 0) << words;
  if (Rank() == 0) {
    EXPECT_EQ(words.find(warning, at + 1), std::string::npos) << "once is enough: " << words;
  }
}

using Captures = OnDevice;

/// What no other test has freed: memory of the library is kept for the life of the process.
constexpr std::int64_t kBytesOfNoOther = 26 << 20;

/// A graph is made of the stream: nothing may be exchanged, and all goes on afterwards.
TEST_F(Captures, OfTheStreamRefuseAnExchange) {
  GpuBuffer buffer(kKindsCount * sizeof(float));
  GpuStream stream;
  RegisterSums(buffer.data());
  const auto values = RandomBytes(SLIPWAY_FLOAT32, kKindsCount, Seed(4, 0));
  buffer.Fill(values.data(), stream.handle());
  fake_gpu_set_capturing(stream.handle(), 1);
  ExpectRefused(slipway_submit_on_stream("sums", 0, stream.handle()), SLIPWAY_ERROR_STATE, "is being captured");
  ExpectRefused(slipway_wait_on_stream("sums", stream.handle()), SLIPWAY_ERROR_STATE, "before the capture begins");
  ExpectRefused(slipway_allreduce_on_stream(buffer.data(), kKindsCount, SLIPWAY_FLOAT32, SLIPWAY_SUM, SLIPWAY_ALL,
                                            stream.handle()),
                SLIPWAY_ERROR_STATE, "is being captured");
  const std::vector<std::int64_t> counts(static_cast<std::size_t>(Ranks()), kKindsCount);
  GpuBuffer gathered(values.size() * counts.size());
  const auto gather = [&] {
    return slipway_allgather_on_stream(buffer.data(), gathered.data(), counts.data(), SLIPWAY_FLOAT32, SLIPWAY_ALL,
                                       stream.handle());
  };
  ExpectRefused(gather(), SLIPWAY_ERROR_STATE, "is being captured");
  fake_gpu_set_capturing(stream.handle(), 0);
  ASSERT_EQ(gather(), SLIPWAY_OK) << slipway_error_message();
  ASSERT_EQ(slipway_submit_on_stream("sums", 0, stream.handle()), SLIPWAY_OK) << slipway_error_message();
  ASSERT_EQ(slipway_wait_on_stream("sums", stream.handle()), SLIPWAY_OK) << slipway_error_message();
  EXPECT_TRUE(buffer.Read(stream.handle()) == SumsOf(values));
  ASSERT_EQ(slipway_unregister("sums"), SLIPWAY_OK) << slipway_error_message();
}

TEST_F(Captures, OfOneRanksStreamRefuseABroadcastOnAll) {
  GpuBuffer buffer(kKindsCount * sizeof(float));
  GpuStream stream;
  const auto of_root = RandomBytes(SLIPWAY_FLOAT32, kKindsCount, 12);
  buffer.Fill(of_root.data(), stream.handle());
  const slipway_tensor tensor{"weight", SLIPWAY_FLOAT32, 1, &kKindsCount, buffer.data()};
  const auto broadcast = [&] { return slipway_broadcast_on_stream(&tensor, 1, 0, SLIPWAY_ALL, stream.handle()); };
  if (Rank() == Ranks() - 1) fake_gpu_set_capturing(stream.handle(), 1);
  ExpectRefused(broadcast(), SLIPWAY_ERROR_STATE, "is being captured");
  fake_gpu_set_capturing(stream.handle(), 0);
  ASSERT_EQ(broadcast(), SLIPWAY_OK) << slipway_error_message();
  EXPECT_EQ(buffer.Read(stream.handle()), of_root);
}

/// In CUDA's default mode, which forbids other threads to ask for events.
TEST_F(Captures, ByAnotherThreadDoNotDisturbAnExchange) {
  for (const auto order : {FAKE_GPU_LAZY, FAKE_GPU_EAGER, FAKE_GPU_RANDOM}) {
    fake_gpu_set_order(order, 3);
    for (const char* way : {"staged", "auto", "mpi"}) {
      GpuTeam team({7, 30000, 2500}, std::string(R"({"op": "sum", "gpu_exchange": ")") + way + "\"}", SLIPWAY_FLOAT32);
      GpuBuffer buffer(kLargeCount * sizeof(float));
      GpuStream stream;
      const auto values = RandomBytes(SLIPWAY_FLOAT32, kLargeCount, Seed(5, 0));
      buffer.Fill(values.data(), stream.handle());
      fake_gpu_capture_elsewhere(1);
      SumOnStream(buffer.data(), kLargeCount, stream.handle());
      const slipway_tensor tensor{"sums", SLIPWAY_FLOAT32, 1, &kLargeCount, buffer.data()};
      EXPECT_EQ(slipway_broadcast_on_stream(&tensor, 1, 0, SLIPWAY_ALL, stream.handle()), SLIPWAY_OK)
          << slipway_error_message();
      for (int step = 0; step < 2; ++step) EXPECT_EQ(team.Step(Seed(5, step), SLIPWAY_SUM, stream.handle()), "") << way;
      fake_gpu_capture_elsewhere(0);
      EXPECT_TRUE(buffer.Read(stream.handle()) == SumsOf(values));
    }
  }
}

TEST_F(Captures, ByAnotherThreadDoNotDisturbATeamOrAnAllocation) {
  GpuBuffer buffer(kKindsCount * sizeof(float));
  fake_gpu_capture_elsewhere(1);
  RegisterSums(buffer.data());
  for (const char* way : {"staged", "auto"}) {
    const auto settings = std::string(R"({"gpu_exchange": ")") + way + "\"}";
    EXPECT_EQ(slipway_configure_team("sums", settings.c_str()), SLIPWAY_OK) << slipway_error_message();
  }
  EXPECT_EQ(slipway_unregister("sums"), SLIPWAY_OK) << slipway_error_message();
  void* memory = nullptr;
  EXPECT_EQ(slipway_alloc_on_device(kBytesOfNoOther, 0, &memory), SLIPWAY_OK) << slipway_error_message();
  EXPECT_EQ(slipway_free(memory), SLIPWAY_OK) << slipway_error_message();
  fake_gpu_capture_elsewhere(0);
}

/// CUDA forbids the wait for all work of the GPU then.
TEST_F(Captures, ByAnotherThreadLeaveFreedMemoryAlone) {
  constexpr auto kBytes = kBytesOfNoOther + (2 << 20);
  void* memory = nullptr;
  ASSERT_EQ(slipway_alloc_on_device(kBytes, 0, &memory), SLIPWAY_OK) << slipway_error_message();
  void* const first = memory;
  ASSERT_EQ(slipway_free(memory), SLIPWAY_OK) << slipway_error_message();
  fake_gpu_capture_elsewhere(1);
  ExpectRefused(slipway_alloc_on_device(kBytes, 0, &memory), SLIPWAY_ERROR_STATE, "before the capture begins");
  fake_gpu_capture_elsewhere(0);
  ASSERT_EQ(slipway_alloc_on_device(kBytes, 0, &memory), SLIPWAY_OK) << slipway_error_message();
  EXPECT_EQ(memory, first);
  EXPECT_EQ(slipway_free(memory), SLIPWAY_OK) << slipway_error_message();
}

}  // namespace
}  // namespace slipway::test
