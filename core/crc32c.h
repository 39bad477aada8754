/// CRC32C (Castagnoli, reflected polynomial 0x82f63b78; RFC 3720 appendix B.4).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace slipway {

/// CRC of `data` appended to bytes whose CRC is `seed` (0 to start). crc32c("123456789") = 0xe3069283.
/// Cost: hardware instruction where the processor has it, else slice-by-8; chosen at run time.
std::uint32_t Crc32c(std::span<const std::byte> data, std::uint32_t seed = 0);
std::uint32_t Crc32c(std::string_view data, std::uint32_t seed = 0);
/// The same without special instructions: what runs where the processor has none.
std::uint32_t Crc32cPortable(std::span<const std::byte> data, std::uint32_t seed = 0);

/// The masked form that TFRecord files store: ((crc >> 15) | (crc << 17)) + 0xa282ead8.
constexpr std::uint32_t MaskCrc32c(std::uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }

}  // namespace slipway
