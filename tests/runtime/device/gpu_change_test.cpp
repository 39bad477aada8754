// Ranks that bring memory of another GPU than before.

#include <cstdlib>

#include "tests/runtime/device/gpu_program.h"

namespace slipway::test {
namespace {

class GpuChange : public OnDevice {
 protected:
  static constexpr std::int64_t kCount = 40'000;

  GpuChange() {
    int group[] = {0, 1, 2};
    EXPECT_EQ(slipway_group_create(group, Ranks(), &group_), SLIPWAY_OK) << slipway_error_message();
  }
  ~GpuChange() override { EXPECT_EQ(slipway_group_free(group_), SLIPWAY_OK) << slipway_error_message(); }

  /// An allreduce of memory of this GPU; whether the sums are right.
  bool SumOn(int device, int expected = SLIPWAY_OK) {
    const UsingGpu gpu(device);
    GpuStream stream;
    auto here = RandomBytes(SLIPWAY_FLOAT32, kCount, Seed(device, 3));
    GpuBuffer there(here.size());
    there.Fill(here.data(), stream.handle());
    const int result =
        slipway_allreduce_on_stream(there.data(), kCount, SLIPWAY_FLOAT32, SLIPWAY_SUM, group_, stream.handle());
    EXPECT_EQ(result, expected) << slipway_error_message();
    message_ = slipway_error_message();
    if (expected != SLIPWAY_OK) return false;
    EXPECT_EQ(slipway_allreduce(here.data(), kCount, SLIPWAY_FLOAT32, SLIPWAY_SUM, SLIPWAY_ALL), SLIPWAY_OK);
    return there.Read(stream.handle()) == here;
  }

  int group() const { return group_; }

  std::string message_;

 private:
  int group_ = 0;
};

TEST_F(GpuChange, OfAllRanksTogetherGivesTheSums) {
  for (const int device : {0, 1, 1, 0}) EXPECT_TRUE(SumOn(device)) << device;
}

/// Each has a first one of its own.
TEST_F(GpuChange, IsNoneWhereRanksBeginOnDifferentGpus) {
  for (int turn = 0; turn < 2; ++turn) EXPECT_TRUE(SumOn(Rank() % 2));
}

TEST_F(GpuChange, OfOneRankIsAnErrorOnAll) {
  if (Ranks() == 1) GTEST_SKIP() << "a lone rank exchanges nothing";
  if (!DirectIsNamed()) GTEST_SKIP() << "the times may choose the CPU, which takes any GPU";
  EXPECT_TRUE(SumOn(0));
  SumOn(Rank() == 1 ? 1 : 0, SLIPWAY_ERROR_MISMATCH);
  EXPECT_NE(message_.find("rank 1 calls an allreduce of 40000 float32 (sum, its GPU number 2), but rank 0 an allreduce "
                          "of 40000 float32 (sum, its GPU number 1): all ranks change to another GPU together, or set "
                          "gpu_exchange to staged"),
            std::string::npos)
      << message_;
  EXPECT_TRUE(SumOn(0)) << "the ranks can go on";
}

/// Also in the first allreduce, before the ranks know each other's GPUs. Later ones only where the GPUs combine.
TEST_F(GpuChange, FromMemoryOfTheCpuOfOneRankIsAnErrorOnAll) {
  if (Ranks() == 1) GTEST_SKIP() << "a lone rank exchanges nothing";
  for (int turn = 0; turn < (DirectIsNamed() ? 2 : 1); ++turn) {
    int result = SLIPWAY_ERROR_MISMATCH;  // else SumOn() says so
    if (Rank() == 0) {
      std::vector<float> here(kCount);
      result = slipway_allreduce_on_stream(here.data(), kCount, SLIPWAY_FLOAT32, SLIPWAY_SUM, group(), nullptr);
    } else {
      SumOn(0, SLIPWAY_ERROR_MISMATCH);
    }
    ExpectRefused(result, SLIPWAY_ERROR_MISMATCH, "in GPU memory on all ranks, or on none");
    EXPECT_TRUE(SumOn(0)) << "the ranks can go on";
  }
}

/// There the CPU combines, wherever the values come from.
TEST_F(GpuChange, BetweenNodesSomeMayBringMemoryOfTheCpu) {
  if (std::getenv("SLIPWAY_RANKS_PER_NODE") == nullptr) GTEST_SKIP() << "the GPUs of a node combine";
  for (int turn = 0; turn < 2; ++turn) {
    auto here = RandomBytes(SLIPWAY_FLOAT32, kCount, Seed(turn, 4));
    auto sums = here;
    GpuBuffer there(here.size());
    there.Fill(here.data(), nullptr);
    void* const data = Rank() == 0 ? here.data() : there.data();
    ASSERT_EQ(slipway_allreduce(data, kCount, SLIPWAY_FLOAT32, SLIPWAY_SUM, group()), SLIPWAY_OK)
        << slipway_error_message();
    ASSERT_EQ(slipway_allreduce(sums.data(), kCount, SLIPWAY_FLOAT32, SLIPWAY_SUM, SLIPWAY_ALL), SLIPWAY_OK);
    EXPECT_TRUE((Rank() == 0 ? here : there.Read(nullptr)) == sums) << "turn " << turn;
  }
}

}  // namespace
}  // namespace slipway::test
