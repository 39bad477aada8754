/// CRC32C (Castagnoli, reflected polynomial 0x82f63b78; RFC 3720 appendix B.4).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace slipway {

/// CRC of `data` appended to bytes whose CRC is `seed` (0 to start). crc32c("123456789") = 0xe3069283.
/// Cost: the speed of memory. Folding with 64-byte registers where the processor can, else three interleaved streams of
///       the crc32 instruction, else slice-by-8; chosen at run time. Figures: docs/decisions/0011.
std::uint32_t Crc32c(std::span<const std::byte> data, std::uint32_t seed = 0);
std::uint32_t Crc32c(std::string_view data, std::uint32_t seed = 0);
/// The same without folding: what runs where the processor has no AVX-512.
std::uint32_t Crc32cStreams(std::span<const std::byte> data, std::uint32_t seed = 0);
/// The same without special instructions: what runs where the processor has none.
std::uint32_t Crc32cPortable(std::span<const std::byte> data, std::uint32_t seed = 0);

/// The CRC of two byte strings, one after the other, from the CRC of each: `crc_b` belongs to `length_b` bytes.
/// Cost: one carry-less multiplication for each byte of `length_b` as a number (2 for 1 KB), some nanoseconds.
std::uint32_t Crc32cCombine(std::uint32_t crc_a, std::uint32_t crc_b, std::uint64_t length_b);
/// The same without special instructions.
std::uint32_t Crc32cCombinePortable(std::uint32_t crc_a, std::uint32_t crc_b, std::uint64_t length_b);

/// The masked form that TFRecord files store: ((crc >> 15) | (crc << 17)) + 0xa282ead8.
constexpr std::uint32_t MaskCrc32c(std::uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }

}  // namespace slipway
