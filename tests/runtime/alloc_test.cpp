// Exchanges in memory of slipway_alloc, and where such memory meets ordinary one.

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

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

/// Memory that the program has mapped itself.
class Mapped {
 public:
  explicit Mapped(std::int64_t count) : bytes_(static_cast<std::size_t>(count) * 4) {
    EXPECT_EQ(ftruncate(descriptor_, static_cast<off_t>(bytes_)), 0);
    data_ = static_cast<float*>(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0));
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  ~Mapped() {
    munmap(data_, bytes_);
    close(descriptor_);
  }
  float* data() { return data_; }
  int descriptor() const { return descriptor_; }

 private:
  std::size_t bytes_;
  int descriptor_ = memfd_create("mapped", MFD_CLOEXEC);
  float* data_ = nullptr;
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

TEST(AdoptedMemory, IsExchangedLikeThatOfSlipwayAlloc) {
  for (int time = 0; time < 3; ++time) {  // at the same address, perhaps
    Mapped mapped(kCount);
    // On one rank alone: the others have ordinary memory.
    const bool wants = time > 0 || Rank() == 0;
    const int result = wants ? slipway_adopt(mapped.data(), kCount * 4, mapped.descriptor()) : SLIPWAY_OK;
    EXPECT_TRUE(result == SLIPWAY_OK || result == SLIPWAY_ERROR_STATE) << slipway_error_message();
    for (std::int64_t i = 0; i < kCount; ++i)
      mapped.data()[i] = static_cast<float>(Rank()) + static_cast<float>(i % 100);
    ASSERT_EQ(slipway_allreduce(mapped.data(), kCount, SLIPWAY_FLOAT32, SLIPWAY_SUM, 0), SLIPWAY_OK);
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < kCount; ++i) wrong += mapped.data()[i] == SumOf(0, i) ? 0 : 1;
    EXPECT_EQ(wrong, 0) << "time " << time;
    ASSERT_EQ(slipway_barrier(0), SLIPWAY_OK);
    if (wants && result == SLIPWAY_OK) {
      EXPECT_EQ(slipway_free(mapped.data()), SLIPWAY_OK) << slipway_error_message();
    }
  }
}

TEST(AdoptedMemory, MustBeWhatItsDescriptorHolds) {
  Mapped mapped(1000);
  Mapped other(1000);
  mapped.data()[0] = 1;
  EXPECT_NE(slipway_adopt(mapped.data(), 4000, other.descriptor()), SLIPWAY_OK);
  EXPECT_NE(slipway_adopt(mapped.data(), 4001, mapped.descriptor()), SLIPWAY_OK);
  EXPECT_NE(slipway_adopt(mapped.data(), 4000, -1), SLIPWAY_OK);
  EXPECT_EQ(slipway_adopt(nullptr, 4000, mapped.descriptor()), SLIPWAY_ERROR_ARGUMENT);
  EXPECT_EQ(slipway_free(mapped.data()), SLIPWAY_ERROR_ARGUMENT);
  if (slipway_adopt(mapped.data(), 4000, mapped.descriptor()) != SLIPWAY_OK) GTEST_SKIP() << slipway_error_message();
  EXPECT_EQ(slipway_adopt(mapped.data(), 4000, mapped.descriptor()), SLIPWAY_ERROR_ARGUMENT);  // twice
  EXPECT_EQ(slipway_free(mapped.data()), SLIPWAY_OK);
}

}  // namespace
}  // namespace slipway::test
