// Memory of GPUs that other ranks have mapped: no rank frees it before. GPUs that have no memory left for the exchange.

#include <memory>
#include <string>
#include <vector>

#include "tests/runtime/device/gpu_program.h"

namespace slipway::test {
namespace {

using namespace fake_gpu;  // the entries that the program calls

constexpr std::int64_t kShared = 40'000;  ///< 160 kB: large enough for the GPUs

/// Of several ranks. What rank 1 closes takes long, so that a rank that does not wait for it frees before.
class MapsOfOthers : public OnDevice {
 protected:
  void SetUp() override {
    if (Ranks() == 1) GTEST_SKIP() << "a lone rank maps nothing";
    if (Rank() == 1) fake_gpu_delay_closes(50);
    memory_ = std::make_unique<GpuBuffer>(kShared * sizeof(float));
    values_ = RandomBytes(SLIPWAY_FLOAT32, kShared, Seed(1, 0));
    memory_->Fill(values_.data(), nullptr);
    sums_ = values_;
    EXPECT_EQ(slipway_allreduce(sums_.data(), kShared, SLIPWAY_FLOAT32, SLIPWAY_SUM, SLIPWAY_ALL), SLIPWAY_OK);
  }
  void TearDown() override {
    fake_gpu_delay_closes(0);
    OnDevice::TearDown();
  }

  /// The n-th memory that rank 1 asks for from now on is refused.
  static void RefuseMemory(std::uint64_t nth, int code = kOutOfMemory) {
    if (Rank() == 1) fake_gpu_fail_call("cuMemAlloc_v2", nth, code);
  }
  /// Plans that were not used up fail nothing later.
  static void EndPlans() { fake_gpu_fail_call("cuMemAlloc_v2", 0, 0); }
  int Register() {
    const slipway_tensor tensor{"a", SLIPWAY_FLOAT32, 1, &kShared, memory_->data()};
    return slipway_register("net", &tensor, 1, 0);
  }
  static int Configure(const std::string& way) {
    return slipway_configure_team("net", (R"({"op": "sum", "gpu_exchange": ")" + way + "\"}").c_str());
  }
  static void Unregister() { EXPECT_EQ(slipway_unregister("net"), SLIPWAY_OK) << slipway_error_message(); }

  std::unique_ptr<GpuBuffer> memory_;
  std::vector<char> values_;
  std::vector<char> sums_;
};

TEST_F(MapsOfOthers, ATeamWithoutAStreamLeavesNone) {
  ASSERT_EQ(Register(), SLIPWAY_OK) << slipway_error_message();
  if (Rank() == 1) fake_gpu_fail_call("cuStreamCreate", 1, kOutOfMemory);
  const int result = Configure("direct");
  memory_.reset();  // before the ranks meet again
  ExpectRefused(result, SLIPWAY_ERROR_OUT_OF_MEMORY, "rank 1: cuStreamCreate failed");
  Unregister();
}

/// The block of the trial, the trial's table, the tables of the buckets.
TEST_F(MapsOfOthers, ARefusedTeamLeavesNone) {
  for (const unsigned nth : {1, 2, 3}) {
    ASSERT_EQ(Register(), SLIPWAY_OK) << slipway_error_message();
    RefuseMemory(nth);
    const int result = Configure("direct");
    memory_.reset();  // before the ranks meet again
    ExpectRefused(result, SLIPWAY_ERROR_OUT_OF_MEMORY, "rank 1: cuMemAlloc failed");
    EXPECT_EQ(Gpu::Violations(), "") << nth;
    Unregister();
    memory_ = std::make_unique<GpuBuffer>(kShared * sizeof(float));
  }
}

TEST_F(MapsOfOthers, AnAllreduceThatAFailingGpuRefusesLeavesNone) {
  std::vector<int> ranks(static_cast<std::size_t>(Ranks()));
  for (int rank = 0; rank < Ranks(); ++rank) ranks[static_cast<std::size_t>(rank)] = rank;
  int group = 0;
  ASSERT_EQ(slipway_group_create(ranks.data(), Ranks(), &group), SLIPWAY_OK) << slipway_error_message();
  RefuseMemory(2, kInvalidValue);  // the first is the block
  ExpectRefused(slipway_allreduce(memory_->data(), kShared, SLIPWAY_FLOAT32, SLIPWAY_SUM, group), SLIPWAY_ERROR_DEVICE,
                "rank 1: cuMemAlloc failed");
  ASSERT_EQ(slipway_allreduce(memory_->data(), kShared, SLIPWAY_FLOAT32, SLIPWAY_SUM, group), SLIPWAY_OK)
      << slipway_error_message();
  EXPECT_TRUE(memory_->Read(nullptr) == sums_);
  ASSERT_EQ(slipway_group_free(group), SLIPWAY_OK) << slipway_error_message();
}

TEST_F(MapsOfOthers, AnAllreduceDoesWithoutMemoryForTheTrial) {
  std::vector<int> ranks(static_cast<std::size_t>(Ranks()));
  for (int rank = 0; rank < Ranks(); ++rank) ranks[static_cast<std::size_t>(rank)] = rank;
  int group = 0;
  ASSERT_EQ(slipway_group_create(ranks.data(), Ranks(), &group), SLIPWAY_OK) << slipway_error_message();
  RefuseMemory(2);
  ASSERT_EQ(slipway_allreduce(memory_->data(), kShared, SLIPWAY_FLOAT32, SLIPWAY_SUM, group), SLIPWAY_OK)
      << slipway_error_message();
  EXPECT_TRUE(memory_->Read(nullptr) == sums_);
  ASSERT_EQ(slipway_group_free(group), SLIPWAY_OK) << slipway_error_message();
}

TEST_F(MapsOfOthers, ATeamDoesWithoutMemoryForTheTrialAndTheTables) {
  for (const unsigned nth : {1, 2, 3}) {
    ASSERT_EQ(Register(), SLIPWAY_OK) << slipway_error_message();
    RefuseMemory(nth);
    ASSERT_EQ(Configure("auto"), SLIPWAY_OK) << slipway_error_message();
    EndPlans();
    memory_->Fill(values_.data(), nullptr);
    const auto copies = fake_gpu_calls("cuMemcpyDtoHAsync_v2");
    ASSERT_EQ(slipway_wait("net"), SLIPWAY_OK) << slipway_error_message();
    EXPECT_GT(fake_gpu_calls("cuMemcpyDtoHAsync_v2"), copies) << "not staged: " << nth;
    EXPECT_TRUE(memory_->Read(nullptr) == sums_) << nth;
    Unregister();
  }
}

TEST_F(MapsOfOthers, AKernelThatHadNoMemoryOnceIsLoadedLater) {
  memory_.reset();  // in its own context, which has a copy to it queued
  const UsingGpu second(1);
  memory_ = std::make_unique<GpuBuffer>(kShared * sizeof(float));
  fake_gpu_fail_call("cuModuleLoadData", 1, kOutOfMemory);
  for (const bool first : {true, false}) {
    ASSERT_EQ(Register(), SLIPWAY_OK) << slipway_error_message();
    ASSERT_EQ(Configure(first ? "auto" : "direct"), SLIPWAY_OK) << slipway_error_message();
    memory_->Fill(values_.data(), nullptr);
    ASSERT_EQ(slipway_wait("net"), SLIPWAY_OK) << slipway_error_message();
    EXPECT_TRUE(memory_->Read(nullptr) == sums_);
    Unregister();
  }
  memory_.reset();
}

}  // namespace
}  // namespace slipway::test
