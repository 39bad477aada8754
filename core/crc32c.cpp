#include "core/crc32c.h"

#include <algorithm>
#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace slipway {
namespace {

constexpr std::uint32_t kPolynomial = 0x82f63b78;

using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

/// Slice-by-8 tables (Intel, "High Octane CRC Generation", 2006).
constexpr Tables MakeTables() {
  Tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    tables[0][byte] = crc;
  }
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    for (std::size_t slice = 1; slice < 8; ++slice) {
      const auto before = tables[slice - 1][byte];
      tables[slice][byte] = (before >> 8) ^ tables[0][before & 0xff];
    }
  }
  return tables;
}

constexpr Tables kTables = MakeTables();

std::uint64_t Load64(const std::byte* at) {
  std::uint64_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

std::uint32_t Software(std::uint32_t crc, const std::byte* at, std::size_t size) {
  for (; size >= 8; at += 8, size -= 8) {
    const auto word = Load64(at) ^ crc;
    crc = 0;
    for (std::size_t slice = 0; slice < 8; ++slice) crc ^= kTables[7 - slice][(word >> (8 * slice)) & 0xff];
  }
  for (; size > 0; ++at, --size) crc = (crc >> 8) ^ kTables[0][(crc ^ std::to_integer<std::uint32_t>(*at)) & 0xff];
  return crc;
}

// A CRC is a polynomial over GF(2) modulo P, its highest bit the power x^0. Bytes that follow multiply it by x^8 each.

constexpr std::uint32_t kOne = 0x80000000;

constexpr std::uint32_t TimesX(std::uint32_t a) { return (a >> 1) ^ ((a & 1) != 0 ? kPolynomial : 0); }
constexpr std::uint32_t DividedByX(std::uint32_t a) { return (a & kOne) != 0 ? ((a ^ kPolynomial) << 1) | 1 : a << 1; }

constexpr std::uint32_t Multiply(std::uint32_t a, std::uint32_t b) {
  std::uint32_t product = 0;
  for (; a != 0; a <<= 1, b = TimesX(b)) product ^= (a & kOne) != 0 ? b : 0;
  return product;
}

constexpr std::uint32_t RepeatedlyTimesX(std::uint32_t a, int times) {
  for (; times > 0; --times) a = TimesX(a);
  return a;
}

/// pclmulqdq followed by crc32 gives a * b * x^33, so that all factors below are divided by x^33.
constexpr std::uint32_t DividedByX33(std::uint32_t a) {
  for (int i = 0; i < 33; ++i) a = DividedByX(a);
  return a;
}

/// factors[k][d]: what d * 256^k bytes multiply a CRC by, divided by x^33.
constexpr Tables MakeByteFactors() {
  Tables factors{};
  auto step = RepeatedlyTimesX(kOne, 8);
  for (auto& level : factors) {
    level[0] = DividedByX33(kOne);
    for (std::size_t digit = 1; digit < 256; ++digit) level[digit] = Multiply(level[digit - 1], step);
    for (int i = 0; i < 8; ++i) step = Multiply(step, step);
  }
  return factors;
}

constexpr Tables kByteFactors = MakeByteFactors();

std::uint32_t SoftwareShift(std::uint32_t crc, std::uint64_t bytes) {
  for (std::size_t level = 0; bytes != 0; ++level, bytes >>= 8) {
    crc = RepeatedlyTimesX(Multiply(crc, kByteFactors[level][bytes & 0xff]), 33);
  }
  return crc;
}

#if defined(__x86_64__)

constexpr std::size_t kMostWords = 64;    // 8-byte words of one of three streams
constexpr std::size_t kLeastBytes = 192;  // below it one stream is as fast

/// factors[n]: what n words multiply a CRC by, divided by x^33.
constexpr auto MakeWordFactors() {
  std::array<std::uint32_t, 2 * kMostWords + 1> factors{};
  const auto word = RepeatedlyTimesX(kOne, 64);
  factors[0] = DividedByX33(kOne);
  for (std::size_t i = 1; i < factors.size(); ++i) factors[i] = Multiply(factors[i - 1], word);
  return factors;
}

constexpr auto kWordFactors = MakeWordFactors();

#define SLIPWAY_CRC_TARGET __attribute__((target("sse4.2,pclmul")))

SLIPWAY_CRC_TARGET std::uint64_t CarrylessProduct(std::uint64_t a, std::uint32_t factor) {
  const auto left = _mm_cvtsi64_si128(static_cast<long long>(a));
  const auto right = _mm_cvtsi32_si128(static_cast<int>(factor));
  return static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm_clmulepi64_si128(left, right, 0)));
}

SLIPWAY_CRC_TARGET std::uint32_t HardwareShift(std::uint32_t crc, std::uint64_t bytes) {
  for (std::size_t level = 0; bytes != 0; ++level, bytes >>= 8) {
    crc = static_cast<std::uint32_t>(_mm_crc32_u64(0, CarrylessProduct(crc, kByteFactors[level][bytes & 0xff])));
  }
  return crc;
}

/// Three independent streams hide the three-cycle latency of the crc32 instruction.
SLIPWAY_CRC_TARGET std::uint32_t ThreeStreams(std::uint32_t crc, const std::byte* at, std::size_t words) {
  const auto* second = at + 8 * words;
  const auto* third = second + 8 * words;
  std::uint64_t a = crc, b = 0, c = 0;
  for (std::size_t i = 0; i < 8 * words; i += 8) {
    // The processor takes three short walks for none: ask for the bytes of the next call. Behind the end it is
    // harmless.
    if (i % 64 == 0) {
      _mm_prefetch(third + 8 * words + 3 * i, _MM_HINT_T0);
      _mm_prefetch(third + 8 * words + 3 * i + 64, _MM_HINT_T0);
      _mm_prefetch(third + 8 * words + 3 * i + 128, _MM_HINT_T0);
    }
    a = _mm_crc32_u64(a, Load64(at + i));
    b = _mm_crc32_u64(b, Load64(second + i));
    c = _mm_crc32_u64(c, Load64(third + i));
  }
  const auto before = CarrylessProduct(a, kWordFactors[2 * words]) ^ CarrylessProduct(b, kWordFactors[words]);
  return static_cast<std::uint32_t>(_mm_crc32_u64(0, before) ^ c);
}

SLIPWAY_CRC_TARGET std::uint32_t Hardware(std::uint32_t crc, const std::byte* at, std::size_t size) {
  while (size >= kLeastBytes) {
    const auto words = std::min(size / 24, kMostWords);
    crc = ThreeStreams(crc, at, words);
    at += 24 * words;
    size -= 24 * words;
  }
  std::uint64_t wide = crc;
  for (; size >= 8; at += 8, size -= 8) wide = _mm_crc32_u64(wide, Load64(at));
  crc = static_cast<std::uint32_t>(wide);
  for (; size > 0; ++at, --size) crc = _mm_crc32_u8(crc, std::to_integer<std::uint8_t>(*at));
  return crc;
}

// Folding, 64 bytes in a register (Intel, "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ", 2009). The
// bytes of one register are multiplied by a factor for their distance and added to later bytes, until 64 are left.

#define SLIPWAY_FOLD_TARGET __attribute__((target("avx512f,vpclmulqdq,sse4.2,pclmul")))

constexpr std::size_t kFoldStep = 256;

struct FoldFactors {
  std::uint32_t low;   ///< for the first 8 of 16 bytes, which stand 8 bytes further away
  std::uint32_t high;  ///< for the last 8
};

constexpr FoldFactors FactorsFor(std::size_t bytes) {
  const auto high = DividedByX33(RepeatedlyTimesX(kOne, static_cast<int>(8 * bytes)));
  return {RepeatedlyTimesX(high, 64), high};
}

SLIPWAY_FOLD_TARGET __m512i InEachLane(FoldFactors factors) {
  return _mm512_set4_epi64(factors.high, factors.low, factors.high, factors.low);
}

SLIPWAY_FOLD_TARGET __m512i Fold(__m512i early, __m512i factors, __m512i late) {
  constexpr int kExclusiveOr = 0x96;
  return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(early, factors, 0x00),
                                   _mm512_clmulepi64_epi128(early, factors, 0x11), late, kExclusiveOr);
}

/// `size` >= kFoldStep.
SLIPWAY_FOLD_TARGET std::uint32_t Folded(std::uint32_t crc, const std::byte* at, std::size_t size) {
  static constexpr auto kFar = FactorsFor(kFoldStep);
  static constexpr auto kNear = FactorsFor(sizeof(__m512i));
  const auto far = InEachLane(kFar);
  const auto near = InEachLane(kNear);
  auto a = _mm512_xor_si512(_mm512_loadu_si512(at), _mm512_zextsi128_si512(_mm_cvtsi32_si128(static_cast<int>(crc))));
  auto b = _mm512_loadu_si512(at + 64);
  auto c = _mm512_loadu_si512(at + 128);
  auto d = _mm512_loadu_si512(at + 192);
  for (at += kFoldStep, size -= kFoldStep; size >= kFoldStep; at += kFoldStep, size -= kFoldStep) {
    a = Fold(a, far, _mm512_loadu_si512(at));
    b = Fold(b, far, _mm512_loadu_si512(at + 64));
    c = Fold(c, far, _mm512_loadu_si512(at + 128));
    d = Fold(d, far, _mm512_loadu_si512(at + 192));
  }
  a = Fold(Fold(Fold(a, near, b), near, c), near, d);
  for (; size >= sizeof a; at += sizeof a, size -= sizeof a) a = Fold(a, near, _mm512_loadu_si512(at));
  std::array<std::byte, sizeof a> left;
  _mm512_storeu_si512(left.data(), a);
  return Hardware(Hardware(0, left.data(), left.size()), at, size);
}

#undef SLIPWAY_FOLD_TARGET
#undef SLIPWAY_CRC_TARGET

bool HasHardware() {
  static const bool has = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul");
  return has;
}

bool CanFold() {
  static const bool can = HasHardware() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("vpclmulqdq");
  return can;
}

#endif

}  // namespace

std::uint32_t Crc32c(std::span<const std::byte> data, std::uint32_t seed) {
#if defined(__x86_64__)
  if (data.size() >= kFoldStep && CanFold()) return ~Folded(~seed, data.data(), data.size());
#endif
  return Crc32cStreams(data, seed);
}

std::uint32_t Crc32cStreams(std::span<const std::byte> data, std::uint32_t seed) {
#if defined(__x86_64__)
  if (HasHardware()) return ~Hardware(~seed, data.data(), data.size());
#endif
  return Crc32cPortable(data, seed);
}

std::uint32_t Crc32cPortable(std::span<const std::byte> data, std::uint32_t seed) {
  return ~Software(~seed, data.data(), data.size());
}

std::uint32_t Crc32c(std::string_view data, std::uint32_t seed) {
  return Crc32c(std::as_bytes(std::span(data.data(), data.size())), seed);
}

std::uint32_t Crc32cCombine(std::uint32_t crc_a, std::uint32_t crc_b, std::uint64_t length_b) {
  if (crc_a == 0) return crc_b;  // zero stays zero, however far it is shifted
#if defined(__x86_64__)
  if (HasHardware()) return HardwareShift(crc_a, length_b) ^ crc_b;
#endif
  return Crc32cCombinePortable(crc_a, crc_b, length_b);
}

std::uint32_t Crc32cCombinePortable(std::uint32_t crc_a, std::uint32_t crc_b, std::uint64_t length_b) {
  return SoftwareShift(crc_a, length_b) ^ crc_b;
}

}  // namespace slipway
