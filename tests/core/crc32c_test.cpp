#include "core/crc32c.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <random>
#include <string>

namespace slipway {
namespace {

/// The definition, bit by bit.
std::uint32_t Reference(std::string_view data) {
  std::uint32_t crc = ~0u;
  for (const char c : data) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78u : 0);
  }
  return ~crc;
}

std::string RandomBytes(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::string data(size, '\0');
  for (auto& c : data) c = static_cast<char>(random());
  return data;
}

TEST(Crc32c, GivesThePublishedValues) {
  EXPECT_EQ(Crc32c(""), 0u);
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);  // RFC 3720, B.4
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62a8ab43u);
}

TEST(Crc32c, MasksAsTfrecordFilesDo) { EXPECT_EQ(MaskCrc32c(0xe3069283u), 0xc78ab0e5u); }

TEST(Crc32c, AgreesWithTheDefinitionAroundEveryBlockSize) {
  for (const std::size_t block : {8u, 64u, 192u, 256u, 320u, 512u, 3 * 256u, 3 * 512u, 6 * 512u, 3 * 2048u}) {
    for (std::size_t size = block - 2; size <= block + 9; ++size) {
      const auto data = RandomBytes(size, static_cast<unsigned>(size));
      EXPECT_EQ(Crc32c(data), Reference(data)) << size << " bytes";
      EXPECT_EQ(Crc32cStreams(std::as_bytes(std::span(data))), Reference(data)) << size << " bytes";
      EXPECT_EQ(Crc32cPortable(std::as_bytes(std::span(data))), Reference(data)) << size << " bytes";
    }
  }
}

RC_GTEST_PROP(Crc32c, AgreesWithTheDefinitionAtAnyStartAndLength, ()) {
  const auto size = *rc::gen::inRange<std::size_t>(0, 20'000);
  const auto start = *rc::gen::inRange<std::size_t>(0, 16);
  const auto data = RandomBytes(size + start, *rc::gen::arbitrary<unsigned>());
  const auto part = std::string_view(data).substr(start);
  RC_ASSERT(Crc32c(part) == Reference(part));
}

RC_GTEST_PROP(Crc32c, ContinuesFromASeed, (const std::string& first, const std::string& second)) {
  RC_ASSERT(Crc32c(second, Crc32c(first)) == Crc32c(first + second));
}

RC_GTEST_PROP(Crc32c, ContinuesFromASeedOnEveryKindOfProcessor, (unsigned seed)) {
  const auto data = RandomBytes(*rc::gen::inRange<std::size_t>(0, 5'000), seed);
  const auto bytes = std::as_bytes(std::span(data));
  RC_ASSERT(Crc32cStreams(bytes, seed) == Crc32c(bytes, seed));
  RC_ASSERT(Crc32cPortable(bytes, seed) == Crc32c(bytes, seed));
}

RC_GTEST_PROP(Crc32c, OfTwoPartsIsCombined, ()) {
  const auto data = RandomBytes(*rc::gen::inRange<std::size_t>(0, 100'000), *rc::gen::arbitrary<unsigned>());
  const auto whole = std::string_view(data);
  const auto cut = *rc::gen::inRange<std::size_t>(0, data.size() + 1);
  const auto first = Crc32c(whole.substr(0, cut));
  const auto second = Crc32c(whole.substr(cut));
  RC_ASSERT(Crc32cCombine(first, second, data.size() - cut) == Crc32c(whole));
  RC_ASSERT(Crc32cCombinePortable(first, second, data.size() - cut) == Crc32c(whole));
}

TEST(Crc32c, IsCombinedOverLengthsThatNoMemoryHolds) {
  // Twice 2^40 zeros behind "a" are the same as 2^41 of them, which one multiplication adds.
  const auto zeros = [](std::uint32_t crc, std::uint64_t count) { return Crc32cCombine(crc, 0, count); };
  const auto start = Crc32c("a");
  EXPECT_EQ(zeros(zeros(start, 1ULL << 40), 1ULL << 40), zeros(start, 1ULL << 41));
  EXPECT_EQ(zeros(start, ~0ULL), Crc32cCombinePortable(start, 0, ~0ULL));
}

RC_GTEST_PROP(Crc32c, SeesEveryFlippedBit, ()) {
  auto data = RandomBytes(*rc::gen::inRange<std::size_t>(1, 10'000), *rc::gen::arbitrary<unsigned>());
  const auto before = Crc32c(data);
  data[*rc::gen::inRange<std::size_t>(0, data.size())] ^= static_cast<char>(1 << *rc::gen::inRange(0, 8));
  RC_ASSERT(Crc32c(data) != before);
}

}  // namespace
}  // namespace slipway
