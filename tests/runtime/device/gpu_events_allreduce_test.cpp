// Single allreduces by GPUs that wait for each other by events. With SLIPWAY_GPU_WAIT=events and
// SLIPWAY_GPU_EXCHANGE=direct, as the test runtime_device_tests.direct_by_events sets them.

#include <mpi.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/runtime/device/gpu_program.h"

namespace slipway::test {
namespace {

using namespace fake_gpu;  // the entries that the program calls

enum class MemoryOf {
  kProgram,  ///< copied to a block and back
  kLibrary,  ///< combined where it lies
};

/// Elements on the GPU, and what the CPU makes of the same values.
class SharedElements {
 public:
  SharedElements(MemoryOf memory, std::int64_t count, unsigned seed)
      : count_(count), values_(RandomBytes(SLIPWAY_FLOAT32, count, seed)) {
    if (memory == MemoryOf::kProgram) {
      view_ = std::make_unique<GpuBuffer>(values_.size());
      return;
    }
    const auto bytes = static_cast<std::int64_t>(values_.size());
    EXPECT_EQ(slipway_alloc_on_device(bytes, 0, &library_), SLIPWAY_OK) << slipway_error_message();
    view_ = std::make_unique<GpuView>(library_, values_.size());
  }
  SharedElements(const SharedElements&) = delete;
  SharedElements& operator=(const SharedElements&) = delete;
  ~SharedElements() { GiveBack(); }

  void* data() const { return view_->data(); }
  std::size_t bytes() const { return values_.size(); }
  void Fill(void* stream) { view_->Fill(values_.data(), stream); }
  /// This rank brings `fewer` elements less.
  int Combine(void* stream, slipway_op op = SLIPWAY_SUM, int group = SLIPWAY_ALL, std::int64_t fewer = 0) {
    return slipway_allreduce_on_stream(data(), count_ - fewer, SLIPWAY_FLOAT32, op, group, stream);
  }
  /// Combines the numbers, and copies the sums to `sums`, as work of the stream.
  void CombineInto(GpuBuffer& sums, void* stream) {
    Fill(stream);
    ASSERT_EQ(Combine(stream), SLIPWAY_OK) << slipway_error_message();
    ASSERT_EQ(cuMemcpyDtoDAsync_v2(reinterpret_cast<DevicePointer>(sums.data()),
                                   reinterpret_cast<DevicePointer>(data()), bytes(), stream),
              kSuccess);
  }
  void CombineOnCpu(slipway_op op = SLIPWAY_SUM, int group = SLIPWAY_ALL, std::int64_t fewer = 0) {
    ASSERT_EQ(slipway_allreduce(values_.data(), count_ - fewer, SLIPWAY_FLOAT32, op, group), SLIPWAY_OK);
  }
  const std::vector<char>& values() const { return values_; }
  bool AreRight(void* stream) { return view_->Read(stream) == values_; }
  /// Memory of the library.
  void GiveBack() {
    if (library_ == nullptr) return;
    EXPECT_EQ(slipway_free(std::exchange(library_, nullptr)), SLIPWAY_OK) << slipway_error_message();
  }

 private:
  std::int64_t count_;
  std::vector<char> values_;
  void* library_ = nullptr;
  std::unique_ptr<GpuView> view_;
};

/// On one rank after the other: the last rank's GPU works before the others' CPUs wait for theirs.
template <class Action>
void OneAfterTheOther(Action action) {
  for (int rank = Ranks() - 1; rank >= 0; --rank) {
    if (Rank() == rank) action();
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

/// A group of all ranks, while it lives.
class GroupOfAll {
 public:
  GroupOfAll() {
    std::vector<int> ranks(static_cast<std::size_t>(Ranks()));
    std::iota(ranks.begin(), ranks.end(), 0);
    EXPECT_EQ(slipway_group_create(ranks.data(), Ranks(), &number_), SLIPWAY_OK) << slipway_error_message();
  }
  GroupOfAll(const GroupOfAll&) = delete;
  GroupOfAll& operator=(const GroupOfAll&) = delete;
  ~GroupOfAll() { EXPECT_EQ(slipway_group_free(number_), SLIPWAY_OK) << slipway_error_message(); }
  int number() const { return number_; }

 private:
  int number_ = 0;
};

/// Work of the GPU runs no earlier than something waits for it.
class LazyByEvents : public OnDevice {
 protected:
  static constexpr std::int64_t kElements = 40'000;  ///< 160 kB: by the GPUs

  void SetUp() override {
    if (Ranks() == 1 || !ByEvents()) GTEST_SKIP() << "no GPU waits for another one";
    if (!DirectIsNamed()) GTEST_SKIP() << "the times may choose the CPU";
    fake_gpu_set_order(FAKE_GPU_LAZY, 0);
  }
};

class AllreduceByEvents : public LazyByEvents, public testing::WithParamInterface<MemoryOf> {};
class AllreduceOfLibraryByEvents : public LazyByEvents {};
INSTANTIATE_TEST_SUITE_P(Of, AllreduceByEvents, testing::Values(MemoryOf::kProgram, MemoryOf::kLibrary),
                         [](const auto& memory) {
                           return std::string(memory.param == MemoryOf::kProgram ? "program" : "library");
                         });

TEST_P(AllreduceByEvents, ReturnsBeforeTheGpuBegins) {
  SharedElements elements(GetParam(), kElements, Seed(1, 0));
  GpuStream stream;
  for (const bool first : {true, false}) {  // the first one also makes things
    elements.Fill(stream.handle());
    const auto asked = fake_gpu_calls("cuEventQuery");
    const auto waited = fake_gpu_count(FAKE_GPU_HOST_WAITS);
    const auto stops = StopsOfTheGpu();
    ASSERT_EQ(elements.Combine(stream.handle()), SLIPWAY_OK) << slipway_error_message();
    if (!first) {
      EXPECT_EQ(fake_gpu_calls("cuEventQuery"), asked);
      EXPECT_EQ(fake_gpu_count(FAKE_GPU_HOST_WAITS), waited);
      EXPECT_EQ(StopsOfTheGpu(), stops);
      EXPECT_GT(fake_gpu_pending(), 0u);
    }
    elements.CombineOnCpu();
    EXPECT_TRUE(elements.AreRight(stream.handle())) << "first: " << first;
  }
}

/// One rank's program holds its stream longer: no GPU takes its values before.
TEST_P(AllreduceByEvents, ReturnsWhileTheProgramHoldsItsStream) {
  SharedElements elements(GetParam(), kElements, Seed(2, 0));
  elements.Fill(nullptr);
  ASSERT_EQ(elements.Combine(nullptr), SLIPWAY_OK) << slipway_error_message();
  elements.CombineOnCpu();
  EXPECT_TRUE(elements.AreRight(nullptr));
  HeldStream held;
  elements.Fill(held.handle());
  for (int turn = 0; turn < 3; ++turn) {
    ASSERT_EQ(elements.Combine(held.handle()), SLIPWAY_OK) << slipway_error_message();
  }
  for (int turn = 0; turn < 3; ++turn) elements.CombineOnCpu();
  if (Rank() == Ranks() - 1) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  held.LetGo();
  EXPECT_TRUE(elements.AreRight(held.handle()));
}

/// Without a stream it goes in the order of the legacy default one.
TEST_P(AllreduceByEvents, ComesInTheOrderOfTheDefaultStream) {
  SharedElements elements(GetParam(), kElements, Seed(3, 0));
  for (int turn = 0; turn < 3; ++turn) {
    elements.Fill(nullptr);
    ASSERT_EQ(slipway_allreduce(elements.data(), kElements, SLIPWAY_FLOAT32, SLIPWAY_SUM, SLIPWAY_ALL), SLIPWAY_OK)
        << slipway_error_message();
    elements.CombineOnCpu();
    EXPECT_TRUE(elements.AreRight(nullptr)) << "turn " << turn;
  }
}

/// Two streams that nothing orders, and one that the program orders after the other.
TEST_P(AllreduceByEvents, FollowsStreamsThatAlternate) {
  SharedElements elements[] = {{GetParam(), kElements, Seed(4, 0)}, {GetParam(), kElements, Seed(4, 1)}};
  GpuStream streams[2];
  for (int i = 0; i < 2; ++i) elements[i].Fill(streams[i].handle());
  for (int turn = 0; turn < 3; ++turn) {
    for (int i = 0; i < 2; ++i) {
      ASSERT_EQ(elements[i].Combine(streams[i].handle()), SLIPWAY_OK) << slipway_error_message();
    }
  }
  void* event = nullptr;
  ASSERT_EQ(cuEventCreate(&event, kEventDisableTiming), kSuccess);
  ASSERT_EQ(cuEventRecord(event, streams[0].handle()), kSuccess);
  ASSERT_EQ(cuStreamWaitEvent(streams[1].handle(), event, 0), kSuccess);
  ASSERT_EQ(elements[0].Combine(streams[1].handle()), SLIPWAY_OK) << slipway_error_message();
  for (int turn = 0; turn < 3; ++turn) {
    for (auto& each : elements) each.CombineOnCpu();
  }
  elements[0].CombineOnCpu();
  for (auto& each : elements) EXPECT_TRUE(each.AreRight(streams[1].handle()));
  EXPECT_EQ(cuEventDestroy_v2(event), kSuccess);
}

/// Parts take the same block one after the other.
TEST_P(AllreduceByEvents, ALongOneGoesPartByPart) {
  constexpr std::int64_t kOfTwoParts = 8'500'007;
  SharedElements elements(GetParam(), kOfTwoParts, Seed(5, 0));
  GpuStream stream;
  for (const bool first : {true, false}) {
    elements.Fill(stream.handle());
    const auto asked = fake_gpu_calls("cuEventQuery");
    for (const auto op : {SLIPWAY_SUM, SLIPWAY_MEAN}) {
      ASSERT_EQ(elements.Combine(stream.handle(), op), SLIPWAY_OK) << slipway_error_message();
    }
    if (!first) {
      EXPECT_EQ(fake_gpu_calls("cuEventQuery"), asked);
    }
    for (const auto op : {SLIPWAY_SUM, SLIPWAY_MEAN}) elements.CombineOnCpu(op);
    EXPECT_TRUE(elements.AreRight(stream.handle())) << "first: " << first;
  }
}

/// Each size has a table of addresses of its own, more than are kept. To free one, the driver would stop the GPU.
TEST_P(AllreduceByEvents, OfManySizesFreesNothing) {
  constexpr std::int64_t kSizes = 140;
  SharedElements elements(GetParam(), kElements, Seed(14, 0));
  GpuStream stream;
  elements.Fill(stream.handle());
  ASSERT_EQ(elements.Combine(stream.handle()), SLIPWAY_OK) << slipway_error_message();
  const auto freed = fake_gpu_calls("cuMemFree_v2");
  const auto stopped = fake_gpu_count(FAKE_GPU_DEVICE_SYNCHRONISATIONS);
  for (std::int64_t fewer = 1; fewer < kSizes; ++fewer) {
    ASSERT_EQ(elements.Combine(stream.handle(), SLIPWAY_MEAN, SLIPWAY_ALL, fewer), SLIPWAY_OK)
        << slipway_error_message();
  }
  EXPECT_EQ(fake_gpu_calls("cuMemFree_v2"), freed);
  EXPECT_EQ(fake_gpu_count(FAKE_GPU_DEVICE_SYNCHRONISATIONS), stopped);
  elements.CombineOnCpu();
  for (std::int64_t fewer = 1; fewer < kSizes; ++fewer) elements.CombineOnCpu(SLIPWAY_MEAN, SLIPWAY_ALL, fewer);
  EXPECT_TRUE(elements.AreRight(stream.handle()));
}

/// The others do nothing meanwhile.
TEST_P(AllreduceByEvents, OfAPartOfTheRanks) {
  if (Ranks() < 3) GTEST_SKIP() << "a part of two ranks is alone";
  const int ends[] = {0, Ranks() - 1};
  int group = 0;
  ASSERT_EQ(slipway_group_create(ends, 2, &group), SLIPWAY_OK) << slipway_error_message();
  if (Rank() == 0 || Rank() == Ranks() - 1) {
    SharedElements elements(GetParam(), kElements, Seed(15, 0));
    GpuStream stream;
    for (int turn = 0; turn < 3; ++turn) {
      elements.Fill(stream.handle());
      const auto kernels = fake_gpu_calls("cuLaunchKernel");
      ASSERT_EQ(elements.Combine(stream.handle(), SLIPWAY_SUM, group), SLIPWAY_OK) << slipway_error_message();
      EXPECT_GT(fake_gpu_calls("cuLaunchKernel"), kernels) << "the CPUs have added up";
      elements.CombineOnCpu(SLIPWAY_SUM, group);
      EXPECT_TRUE(elements.AreRight(stream.handle())) << "turn " << turn;
    }
  }
  EXPECT_EQ(slipway_group_free(group), SLIPWAY_OK) << slipway_error_message();
}

/// The program writes to the memory as soon as its stream may.
TEST_P(AllreduceByEvents, IsNotOvertakenByTheProgram) {
  for (int turn = 0; turn < 8; ++turn) {
    SharedElements elements(GetParam(), kElements, Seed(6, turn));
    const auto other = RandomBytes(SLIPWAY_FLOAT32, kElements, Seed(7, turn));
    GpuView later(elements.data(), elements.bytes());
    GpuBuffer sums(elements.bytes());
    GpuStream stream;
    ASSERT_NO_FATAL_FAILURE(elements.CombineInto(sums, stream.handle()));
    later.Fill(other.data(), stream.handle());
    OneAfterTheOther([&] { EXPECT_TRUE(later.Read(stream.handle()) == other); });
    elements.CombineOnCpu();
    EXPECT_TRUE(sums.Read(stream.handle()) == elements.values()) << "turn " << turn;
  }
}

/// Through the CPU on the same memory, and by the GPUs again.
TEST_P(AllreduceByEvents, IsFollowedByOtherWays) {
  SharedElements elements(GetParam(), kElements, Seed(8, 0));
  GpuStream stream;
  elements.Fill(stream.handle());
  constexpr slipway_op kOps[] = {SLIPWAY_SUM, SLIPWAY_MAX, SLIPWAY_SUM, SLIPWAY_MIN, SLIPWAY_MEAN};
  for (const auto op : kOps) {
    ASSERT_EQ(elements.Combine(stream.handle(), op), SLIPWAY_OK) << slipway_error_message();
  }
  for (const auto op : kOps) elements.CombineOnCpu(op);
  EXPECT_TRUE(elements.AreRight(stream.handle()));
}

/// What the copy to the block still has to read is not written before, and the ranks can go on.
TEST_P(AllreduceByEvents, LeavesAProgramItsMemoryAfterARefusal) {
  SharedElements elements(GetParam(), kElements, Seed(9, 0));
  GpuStream stream;
  elements.Fill(stream.handle());
  ASSERT_EQ(elements.Combine(stream.handle()), SLIPWAY_OK) << slipway_error_message();
  ExpectRefused(elements.Combine(stream.handle(), SLIPWAY_SUM, SLIPWAY_ALL, Rank() == 1 ? 1 : 0),
                SLIPWAY_ERROR_MISMATCH, "allreduce");
  GpuView later(elements.data(), elements.bytes());
  later.Fill(elements.values().data(), stream.handle());
  ASSERT_EQ(elements.Combine(stream.handle()), SLIPWAY_OK) << slipway_error_message();
  elements.CombineOnCpu();
  EXPECT_TRUE(elements.AreRight(stream.handle()));
}

TEST_P(AllreduceByEvents, IsWholeWhenItsGroupEndsBeforeTheGpuBegins) {
  SharedElements elements(GetParam(), kElements, Seed(10, 0));
  GpuStream stream;
  elements.Fill(stream.handle());
  {
    GroupOfAll group;
    ASSERT_EQ(elements.Combine(stream.handle(), SLIPWAY_SUM, group.number()), SLIPWAY_OK) << slipway_error_message();
  }
  elements.CombineOnCpu();
  EXPECT_TRUE(elements.AreRight(stream.handle()));
}

/// A driver that cannot share events, on one rank.
TEST_P(AllreduceByEvents, GoesWithoutThemWhereARankCannot) {
  GroupOfAll group;
  SharedElements elements(GetParam(), kElements, Seed(11, 0));
  GpuStream stream;
  if (Rank() == 1) fake_gpu_fail_call("cuIpcGetEventHandle", 1, kNotSupported);
  for (int turn = 0; turn < 2; ++turn) {
    elements.Fill(stream.handle());
    const auto asked = fake_gpu_calls("cuEventQuery");
    const auto kernels = fake_gpu_calls("cuLaunchKernel");
    ASSERT_EQ(elements.Combine(stream.handle(), SLIPWAY_SUM, group.number()), SLIPWAY_OK) << slipway_error_message();
    EXPECT_GT(fake_gpu_calls("cuEventQuery"), asked) << "no CPU has waited";
    EXPECT_GT(fake_gpu_calls("cuLaunchKernel"), kernels) << "the CPUs have added up";
    elements.CombineOnCpu();
    EXPECT_TRUE(elements.AreRight(stream.handle())) << "turn " << turn;
  }
}

/// Memory of rank 0 goes to its block after the others have seen where it lies.
TEST_F(AllreduceOfLibraryByEvents, TakesTheBlockWhereARankCannotMapTheMemory) {
  GroupOfAll group;
  SharedElements known(MemoryOf::kLibrary, kElements, Seed(12, 0));
  GpuStream stream;
  known.Fill(stream.handle());
  // Maps all that there is so far, so that the next memory of rank 0 is the first that rank 1 maps.
  ASSERT_EQ(known.Combine(stream.handle(), SLIPWAY_SUM, group.number()), SLIPWAY_OK) << slipway_error_message();
  SharedElements fresh(MemoryOf::kLibrary, 7'000'000, Seed(12, 1));  // a size that no other test has
  if (Rank() == 1) fake_gpu_fail_call("cuIpcOpenMemHandle_v2", 1, kNotSupported);
  for (int turn = 0; turn < 2; ++turn) {
    fresh.Fill(stream.handle());
    const auto copies = fake_gpu_calls("cuMemcpyDtoDAsync_v2");
    ASSERT_EQ(fresh.Combine(stream.handle(), SLIPWAY_SUM, group.number()), SLIPWAY_OK) << slipway_error_message();
    EXPECT_EQ(fake_gpu_calls("cuMemcpyDtoDAsync_v2") - copies, Rank() == 0 ? 2u : 0u);
    fresh.CombineOnCpu();
    OneAfterTheOther([&] { EXPECT_TRUE(fresh.AreRight(stream.handle())) << "turn " << turn; });
  }
  known.CombineOnCpu();
  EXPECT_TRUE(known.AreRight(stream.handle()));
}

/// It is zeroed for the next one that allocates.
TEST_F(AllreduceOfLibraryByEvents, IsWholeWhenItsMemoryIsGivenBackAtOnce) {
  SharedElements elements(MemoryOf::kLibrary, kElements, Seed(13, 0));
  GpuBuffer sums(elements.bytes());
  GpuStream stream;
  ASSERT_NO_FATAL_FAILURE(elements.CombineInto(sums, stream.handle()));
  void* const before = elements.data();
  elements.GiveBack();
  OneAfterTheOther([&] {
    const SharedElements next(MemoryOf::kLibrary, kElements, Seed(13, 1));
    EXPECT_EQ(next.data(), before);
  });
  elements.CombineOnCpu();
  EXPECT_TRUE(sums.Read(stream.handle()) == elements.values());
}

}  // namespace
}  // namespace slipway::test
