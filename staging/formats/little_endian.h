/// Numbers in little-endian byte order, independent of the machine's order and of alignment.
#pragma once

#include <concepts>
#include <cstddef>
#include <span>

namespace slipway::staging {

template <std::unsigned_integral Number>
Number LoadLittleEndian(std::span<const std::byte, sizeof(Number)> bytes) {
  Number value = 0;
  for (std::size_t i = 0; i < sizeof(Number); ++i) value |= static_cast<Number>(bytes[i]) << (8 * i);
  return value;
}

template <std::unsigned_integral Number>
void StoreLittleEndian(Number value, std::span<std::byte, sizeof(Number)> bytes) {
  for (std::size_t i = 0; i < sizeof(Number); ++i) bytes[i] = static_cast<std::byte>(value >> (8 * i));
}

}  // namespace slipway::staging
