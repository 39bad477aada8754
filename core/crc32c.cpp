#include "core/crc32c.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
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

#if defined(__x86_64__)

/// The effect on a CRC of `Zeros` zero bytes after it, as four byte-indexed tables: a linear map over GF(2).
template <std::size_t Zeros>
struct ZeroShift {
  std::array<std::array<std::uint32_t, 256>, 4> table{};

  ZeroShift() {
    for (std::size_t position = 0; position < 4; ++position) {
      for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t crc = byte << (8 * position);
        for (std::size_t i = 0; i < Zeros; ++i) crc = (crc >> 8) ^ kTables[0][crc & 0xff];
        table[position][byte] = crc;
      }
    }
  }
  std::uint32_t operator()(std::uint32_t crc) const {
    return table[0][crc & 0xff] ^ table[1][(crc >> 8) & 0xff] ^ table[2][(crc >> 16) & 0xff] ^ table[3][crc >> 24];
  }
};

/// Three independent streams hide the three-cycle latency of the crc32 instruction; blocks of 3 x `Block` bytes.
template <std::size_t Block>
__attribute__((target("sse4.2"))) void ThreeStreams(std::uint32_t& crc, const std::byte*& at, std::size_t& size) {
  static const ZeroShift<Block> shift;
  while (size >= 3 * Block) {
    std::uint64_t a = crc, b = 0, c = 0;
    for (std::size_t i = 0; i < Block; i += 8) {
      a = _mm_crc32_u64(a, Load64(at + i));
      b = _mm_crc32_u64(b, Load64(at + Block + i));
      c = _mm_crc32_u64(c, Load64(at + 2 * Block + i));
    }
    crc = shift(shift(static_cast<std::uint32_t>(a)) ^ static_cast<std::uint32_t>(b)) ^ static_cast<std::uint32_t>(c);
    at += 3 * Block;
    size -= 3 * Block;
  }
}

__attribute__((target("sse4.2"))) std::uint32_t Hardware(std::uint32_t crc, const std::byte* at, std::size_t size) {
  ThreeStreams<2048>(crc, at, size);
  ThreeStreams<256>(crc, at, size);
  std::uint64_t wide = crc;
  for (; size >= 8; at += 8, size -= 8) wide = _mm_crc32_u64(wide, Load64(at));
  crc = static_cast<std::uint32_t>(wide);
  for (; size > 0; ++at, --size) crc = _mm_crc32_u8(crc, std::to_integer<std::uint8_t>(*at));
  return crc;
}

bool HasHardware() {
  static const bool has = __builtin_cpu_supports("sse4.2");
  return has;
}

#endif

}  // namespace

std::uint32_t Crc32c(std::span<const std::byte> data, std::uint32_t seed) {
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

}  // namespace slipway
