// When benches are freed. That waits in the driver for their copies, which may be behind work of the program that never
// ends.

#include "runtime/device/workbench.h"

#include <cstddef>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/exchange/allreduce_through_cpu.h"
#include "runtime/exchange/cpu_images.h"
#include "tests/runtime/collectives/groups.h"
#include "tests/runtime/device/gpu_program.h"

namespace slipway::test {
namespace {

using namespace runtime;

class Benches : public OnDevice {
 protected:
  Benches() { test_.group.SetSelection({AlgorithmTable::Default(test_.group.placement()), false}); }
  std::uint64_t Freed() const { return fake_gpu_calls("cuMemHostUnregister") - freed_before_; }

  static constexpr BenchLimits kLimits{.large = 4096, .kept = 16384};
  static constexpr std::int64_t kCount = kLimits.kept / 4 + 1;  ///< floats for which a bench is not kept
  TestGroup test_;
  GpuBuffer there_{kCount * sizeof(float)};
  DevicePlace place_ = *PlaceOf(there_.data());
  Workbenches benches_{test_.memory.pool, kLimits};

 private:
  std::uint64_t freed_before_ = fake_gpu_calls("cuMemHostUnregister");
};

/// To pin memory stops the GPU.
TEST_F(Benches, OfAnOperationThatNeedsTwoAreBothKept) {
  const auto operation = [this] {
    const Workbenches::Lease sent(benches_, place_, kLimits.large);
    const Workbenches::Lease received(benches_, place_, kLimits.large / 4);
  };
  operation();
  const auto pinned = fake_gpu_calls("cuMemHostRegister_v2");
  operation();
  EXPECT_EQ(fake_gpu_calls("cuMemHostRegister_v2"), pinned);
  EXPECT_EQ(Freed(), 0u);
}

/// Then their memory is freed.
TEST_F(Benches, StreamsEndWhenTheirCopiesHaveEnded) {
  const std::vector<float> values(kCount, 5);
  there_.Fill(values.data(), nullptr);
  ASSERT_EQ(fake_gpu::cuCtxSynchronize(), fake_gpu::kSuccess);
  GpuBuffer copy(kCount * sizeof(float));
  {
    DeviceStream stream(place_);
    const InContext here(place_);
    stream.CopyOnDevice(copy.data(), there_.data(), kCount * sizeof(float));
    ASSERT_EQ(fake_gpu_pending(), 1u);
  }
  EXPECT_EQ(fake_gpu_pending(), 0u);
}

/// In CUDA's default mode, in which a call of this thread would end the capture.
TEST_F(Benches, BlocksAreFreedBesideACaptureByAnotherThread) {
  const auto bytes_left = [] {
    std::size_t left = 0, all = 0;
    EXPECT_EQ(fake_gpu::cuMemGetInfo_v2(&left, &all), fake_gpu::kSuccess);
    return left;
  };
  std::optional<DeviceBlock> block(std::in_place, place_, kCount);
  const auto before = bytes_left();
  fake_gpu_capture_elsewhere(1);
  block.reset();
  fake_gpu_capture_elsewhere(0);
  EXPECT_GT(bytes_left(), before);
}

TEST_F(Benches, OfManySizesAFewAreKept) {
  for (std::int64_t bytes = 64; bytes <= kLimits.large; bytes *= 2) {
    const Workbenches::Lease bench(benches_, place_, bytes);
  }
  EXPECT_EQ(Freed(), 3u) << "64, 128 and 256 of seven";
}

class BenchesAtWork : public Benches {
 protected:
  enum class Copies { kToCpu, kToDevice };

  /// Gives a bench back whose copies wait for the held stream.
  void GiveBack(std::int64_t bytes, Copies copies) {
    Workbenches::Lease bench(benches_, place_, bytes);
    const InContext here(place_);
    bench->made.Record(held_.handle());
    const auto stream = copies == Copies::kToCpu ? bench->to_cpu.handle() : bench->to_device.handle();
    bench->made.HoldBack(stream);
    (copies == Copies::kToCpu ? bench->arrived.front() : bench->done).Record(stream);
  }
  /// Ends the copies, and takes and gives back a bench.
  void EndCopies(std::int64_t bytes) {
    held_.LetGo();
    EXPECT_EQ(fake_gpu::cuCtxSynchronize(), fake_gpu::kSuccess);
    const Workbenches::Lease bench(benches_, place_, bytes);
  }
  void ExpectFreedAfterItsCopies(Copies copies) {
    GiveBack(kLimits.kept + 1, copies);
    EXPECT_EQ(Freed(), 0u);
    EndCopies(kLimits.kept + 1);
    EXPECT_EQ(Freed(), 1u);
  }

 private:
  HeldStream held_;  // it is let go before benches are freed
};

TEST_F(BenchesAtWork, AreFreedAfterTheirCopiesToTheCpu) { ExpectFreedAfterItsCopies(Copies::kToCpu); }

TEST_F(BenchesAtWork, AreFreedAfterTheirCopiesToTheGpu) { ExpectFreedAfterItsCopies(Copies::kToDevice); }

TEST_F(BenchesAtWork, StayBesideALargerOne) {
  constexpr auto kLarger = 2 * kLimits.large + 1;
  GiveBack(kLimits.large + 1, Copies::kToDevice);
  GiveBack(kLarger, Copies::kToDevice);
  EXPECT_EQ(Freed(), 0u);
  EndCopies(kLarger);
  EXPECT_EQ(Freed(), 1u) << "of large ones the last is kept";
}

/// Copies take some tenths of a second.
class BenchesThatAreNotKept : public Benches {
 protected:
  BenchesThatAreNotKept() { fake_gpu_use_bandwidth(1e-4); }
  void TearDown() override {
    Benches::TearDown();
    fake_gpu_set_order(FAKE_GPU_LAZY, 0);
  }

  GpuStream stream_;
};

TEST_F(BenchesThatAreNotKept, AreFreedBehindACopyBack) {
  const auto waiter = test_.waiter();
  const auto tensor = FlatTensor("values", there_.data(), kCount, SLIPWAY_FLOAT32);
  {
    CpuImages images({&tensor, 1}, ImageUse::kWrite, {stream_.handle(), ResultAt::kStream}, {benches_, waiter});
    std::memset(images.data(0), 0, tensor.bytes());
    images.Return();
  }
  EXPECT_EQ(Freed(), 1u);
}

TEST_F(BenchesThatAreNotKept, AreFreedBehindAnAllreduce) {
  const std::vector<float> values(kCount, 1);
  there_.Fill(values.data(), stream_.handle());
  AllreduceThroughCpu(place_, there_.data(), kCount, {SLIPWAY_FLOAT32, SLIPWAY_SUM}, test_.group, stream_.handle(),
                      benches_);
  EXPECT_EQ(Freed(), 1u);
}

}  // namespace
}  // namespace slipway::test
