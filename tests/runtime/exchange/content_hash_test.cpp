#include "runtime/exchange/content_hash.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

namespace slipway::runtime {
namespace {

std::vector<unsigned char> Counting(std::size_t bytes) {
  std::vector<unsigned char> memory(bytes);
  std::iota(memory.begin(), memory.end(), static_cast<unsigned char>(0));
  return memory;
}

std::uint64_t HashOf(const std::vector<unsigned char>& memory) { return ContentHash(memory.data(), memory.size()); }

/// Values of sums-RANK.jsonl: runs of different versions are compared by them.
TEST(ContentHash, StaysTheSameInEveryVersion) {
  const std::vector<float> numbers = {1, 2, 3};
  EXPECT_EQ(ContentHash(nullptr, 0), 0xa55bdf37c08724b5u);
  EXPECT_EQ(HashOf(Counting(100)), 0xc3435cbc67688fefu);
  EXPECT_EQ(ContentHash(numbers.data(), 12), 0x9eceacd06f7afd81u);
}

TEST(ContentHash, SeesEveryFlippedBit) {
  for (const std::size_t bytes : {1u, 7u, 8u, 31u, 32u, 33u, 67u, 200u}) {
    auto memory = Counting(bytes);
    std::set<std::uint64_t> seen = {HashOf(memory)};
    for (std::size_t bit = 0; bit < bytes * 8; ++bit) {
      memory[bit / 8] ^= static_cast<unsigned char>(1u << (bit % 8));
      EXPECT_TRUE(seen.insert(HashOf(memory)).second) << "bit " << bit << " of " << bytes << " bytes";
      memory[bit / 8] ^= static_cast<unsigned char>(1u << (bit % 8));
    }
  }
}

/// Gradients with other signs are a common difference, and touch the highest bits of words only.
TEST(ContentHash, SeesFlippedSignsOfUpToThreeNumbers) {
  std::vector<float> numbers(19, 0.5f);
  std::set<std::uint64_t> seen;
  int count = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    for (std::size_t j = i; j < numbers.size(); ++j) {
      for (std::size_t k = j; k < numbers.size(); ++k) {
        if ((i == j) != (j == k)) continue;  // one number, or three
        auto flipped = numbers;
        for (const auto at : std::set{i, j, k}) flipped[at] = -flipped[at];
        seen.insert(ContentHash(flipped.data(), flipped.size() * sizeof(float)));
        ++count;
      }
      auto flipped = numbers;
      if (i == j) continue;
      flipped[i] = flipped[j] = -0.5f;
      seen.insert(ContentHash(flipped.data(), flipped.size() * sizeof(float)));
      ++count;
    }
  }
  seen.insert(ContentHash(numbers.data(), numbers.size() * sizeof(float)));
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(count) + 1);
}

TEST(ContentHash, SeesOrderAndLength) {
  auto swapped = Counting(64);
  std::swap_ranges(swapped.begin(), swapped.begin() + 8, swapped.begin() + 32);
  EXPECT_NE(HashOf(swapped), HashOf(Counting(64)));
  std::set<std::uint64_t> seen;
  for (std::size_t bytes = 0; bytes < 100; ++bytes) {
    EXPECT_TRUE(seen.insert(HashOf(std::vector<unsigned char>(bytes))).second) << bytes << " zeros";
  }
}

}  // namespace
}  // namespace slipway::runtime
