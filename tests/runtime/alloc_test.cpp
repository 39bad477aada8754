// Exchanges in memory of slipway_alloc, and where such memory meets ordinary one.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/runtime/ranks.h"

namespace slipway::test {
namespace {

constexpr std::int64_t kCount = 100003;

class Shared {
 public:
  explicit Shared(std::int64_t count) : count_(count) {
    void* memory = nullptr;
    EXPECT_EQ(slipway_alloc(count * 4, &memory), SLIPWAY_OK) << slipway_error_message();
    data_ = static_cast<float*>(memory);
  }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  ~Shared() { EXPECT_EQ(slipway_free(data_), SLIPWAY_OK); }
  float* data() { return data_; }
  void Fill(float base) {
    for (std::int64_t i = 0; i < count_; ++i) data_[i] = base + static_cast<float>(i % 100);
  }

 private:
  std::int64_t count_;
  float* data_;
};

float SumOf(float base_of_rank_zero, std::int64_t index) {
  float sum = 0;
  for (int rank = 0; rank < Ranks(); ++rank)
    sum += base_of_rank_zero + static_cast<float>(rank) + static_cast<float>(index % 100);
  return sum;
}

std::int64_t WrongOnes(const float* data, std::int64_t count, float base) {
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < count; ++i) wrong += data[i] == SumOf(base, i) ? 0 : 1;
  return wrong;
}

void Sum(float* data, std::int64_t count) {
  ASSERT_EQ(slipway_allreduce(data, count, SLIPWAY_FLOAT32, SLIPWAY_SUM, SLIPWAY_ALL), SLIPWAY_OK)
      << slipway_error_message();
}

TEST(Alloc, GivesZeroedAlignedMemory) {
  void* memory = nullptr;
  ASSERT_EQ(slipway_alloc(10001, &memory), SLIPWAY_OK);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 4096, 0u);
  const auto* bytes = static_cast<const char*>(memory);
  for (int i = 0; i < 10001; ++i) ASSERT_EQ(bytes[i], 0);
  EXPECT_EQ(slipway_free(memory), SLIPWAY_OK);
}

TEST(Alloc, RefusesWhatIsNone) {
  void* memory = nullptr;
  float ordinary = 0;
  EXPECT_EQ(slipway_alloc(-1, &memory), SLIPWAY_ERROR_ARGUMENT);
  EXPECT_EQ(slipway_alloc(16, nullptr), SLIPWAY_ERROR_ARGUMENT);
  EXPECT_EQ(slipway_free(&ordinary), SLIPWAY_ERROR_ARGUMENT);
  EXPECT_EQ(slipway_free(nullptr), SLIPWAY_OK);
  ASSERT_EQ(slipway_alloc(0, &memory), SLIPWAY_OK);
  EXPECT_EQ(slipway_free(memory), SLIPWAY_OK);
  EXPECT_EQ(slipway_free(memory), SLIPWAY_ERROR_ARGUMENT);
}

TEST(Alloc, IsExchangedInPlace) {
  Shared values(kCount);
  for (int step = 0; step < 5; ++step) {
    const auto base = static_cast<float>(step * 3);
    values.Fill(base + static_cast<float>(Rank()));
    Sum(values.data(), kCount);
    EXPECT_EQ(WrongOnes(values.data(), kCount, base), 0) << "step " << step;
    EXPECT_TRUE(SameOnAllRanks(values.data(), kCount * 4));
  }
}

TEST(Alloc, TakesAPartOfABlockAndLeavesTheRest) {
  Shared values(kCount);
  values.Fill(static_cast<float>(Rank()));
  const float before = values.data()[0];
  const float after = values.data()[kCount - 1];
  Sum(values.data() + 100, kCount - 200);
  EXPECT_EQ(WrongOnes(values.data() + 100, kCount - 200, 0), 0);
  EXPECT_EQ(values.data()[0], before);
  EXPECT_EQ(values.data()[kCount - 1], after);
}

TEST(Alloc, MeetsOrdinaryMemory) {
  Shared shared(kCount);
  std::vector<float> ordinary(kCount);
  for (int odd = 0; odd < 2; ++odd) {
    const bool uses_shared = Rank() % 2 == odd;
    shared.Fill(static_cast<float>(Rank()));
    std::copy_n(shared.data(), kCount, ordinary.begin());
    float* data = uses_shared ? shared.data() : ordinary.data();
    Sum(data, kCount);
    EXPECT_EQ(WrongOnes(data, kCount, 0), 0);
  }
}

TEST(Alloc, MayDifferInPlaceBetweenRanks) {
  Shared first(kCount + 4096);
  float* data = first.data() + Rank() * 64;
  for (std::int64_t i = 0; i < kCount; ++i) data[i] = static_cast<float>(Rank()) + static_cast<float>(i % 100);
  Sum(data, kCount);
  EXPECT_EQ(WrongOnes(data, kCount, 0), 0);
}

TEST(Alloc, BlocksComeAndGo) {
  for (int round = 0; round < 20; ++round) {
    Shared values(5000 + round * 1000);
    Shared unused(Rank() == 0 ? 1000 : 0);  // other numbers of blocks on other ranks
    values.Fill(static_cast<float>(Rank()));
    Sum(values.data(), 5000);
    EXPECT_EQ(WrongOnes(values.data(), 5000, 0), 0) << "round " << round;
  }
}

/// Elsewhere only those who see it have the error; runtime_fault_tests has those cases.
bool AllShareMemory() {
  const char* limit = std::getenv("SLIPWAY_SHARED_MEMORY_LIMIT");
  return std::getenv("SLIPWAY_RANKS_PER_NODE") == nullptr && (limit == nullptr || std::string(limit) != "0");
}

TEST(Mismatch, OfTheCountIsAnErrorOnAllRanks) {
  if (Ranks() == 1 || !AllShareMemory()) GTEST_SKIP() << "needs ranks that share memory";
  std::vector<float> values(5000);
  const std::int64_t count = Rank() == Ranks() - 1 ? 4000 : 5000;
  ExpectRefused(slipway_allreduce(values.data(), count, SLIPWAY_FLOAT32, SLIPWAY_SUM, SLIPWAY_ALL),
                SLIPWAY_ERROR_MISMATCH,
                "rank " + std::to_string(Ranks() - 1) + " calls an allreduce of 4000 float32 (sum), but rank 0");
}

TEST(Mismatch, OfTheDtypeOrOperationIsAnErrorOnAllRanks) {
  if (Ranks() == 1 || !AllShareMemory()) GTEST_SKIP() << "needs ranks that share memory";
  std::vector<float> values(10);
  const bool last = Rank() == Ranks() - 1;
  ExpectRefused(slipway_allreduce(values.data(), 10, last ? SLIPWAY_INT32 : SLIPWAY_FLOAT32, SLIPWAY_SUM, SLIPWAY_ALL),
                SLIPWAY_ERROR_MISMATCH, "int32");
  ExpectRefused(slipway_allreduce(values.data(), 10, SLIPWAY_FLOAT32, last ? SLIPWAY_MAX : SLIPWAY_SUM, SLIPWAY_ALL),
                SLIPWAY_ERROR_MISMATCH, "max");
  const int result = last ? slipway_barrier(SLIPWAY_ALL)
                          : slipway_allreduce(values.data(), 10, SLIPWAY_FLOAT32, SLIPWAY_SUM, SLIPWAY_ALL);
  EXPECT_EQ(result, SLIPWAY_ERROR_MISMATCH);
  EXPECT_NE(std::string(slipway_error_message()).find("calls a barrier, but rank 0 an allreduce"), std::string::npos);
}

}  // namespace
}  // namespace slipway::test
