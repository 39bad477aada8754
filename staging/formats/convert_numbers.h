/// Stored numbers of any type as numbers of one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "staging/formats/hdf5.h"

namespace slipway::staging {

template <class From, class To>
void ConvertAs(std::span<const std::byte> from, std::span<To> to) {
  for (std::size_t i = 0; i < to.size(); ++i) {
    From value;
    std::memcpy(&value, from.data() + i * sizeof value, sizeof value);
    to[i] = static_cast<To>(value);
  }
}

/// Numbers that `To` cannot hold are cast as C++ does. `from` has to.size() numbers, and need not be aligned.
template <class To>
void ConvertNumbers(NumberType type, std::span<const std::byte> from, std::span<To> to) {
  switch (type) {
    case NumberType::kInt8: return ConvertAs<std::int8_t>(from, to);
    case NumberType::kUint8: return ConvertAs<std::uint8_t>(from, to);
    case NumberType::kInt16: return ConvertAs<std::int16_t>(from, to);
    case NumberType::kUint16: return ConvertAs<std::uint16_t>(from, to);
    case NumberType::kInt32: return ConvertAs<std::int32_t>(from, to);
    case NumberType::kUint32: return ConvertAs<std::uint32_t>(from, to);
    case NumberType::kInt64: return ConvertAs<std::int64_t>(from, to);
    case NumberType::kUint64: return ConvertAs<std::uint64_t>(from, to);
    case NumberType::kFloat32: return ConvertAs<float>(from, to);
    case NumberType::kFloat64: return ConvertAs<double>(from, to);
  }
}

}  // namespace slipway::staging
