#include "staging/reader/elements.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstring>
#include <limits>
#include <utility>

namespace slipway::staging {

namespace {

struct Half {
  std::uint16_t bits;
};

struct TypeRow {
  ElementType type;
  std::string_view name;
  std::size_t size;
};

constexpr std::array<TypeRow, 11> kTypes = {{{ElementType::kFloat32, "float32", 4},
                                             {ElementType::kFloat64, "float64", 8},
                                             {ElementType::kInt32, "int32", 4},
                                             {ElementType::kInt64, "int64", 8},
                                             {ElementType::kFloat16, "float16", 2},
                                             {ElementType::kUint8, "uint8", 1},
                                             {ElementType::kInt8, "int8", 1},
                                             {ElementType::kInt16, "int16", 2},
                                             {ElementType::kUint16, "uint16", 2},
                                             {ElementType::kUint32, "uint32", 4},
                                             {ElementType::kUint64, "uint64", 8}}};

const TypeRow& RowOf(ElementType type) { return *std::ranges::find(kTypes, type, &TypeRow::type); }

/// Calls `use(Number{})` with the C++ type of `type`.
template <class Use>
void WithType(ElementType type, Use&& use) {
  switch (type) {
    case ElementType::kFloat32: return use(float{});
    case ElementType::kFloat64: return use(double{});
    case ElementType::kInt32: return use(std::int32_t{});
    case ElementType::kInt64: return use(std::int64_t{});
    case ElementType::kFloat16: return use(Half{});
    case ElementType::kUint8: return use(std::uint8_t{});
    case ElementType::kInt8: return use(std::int8_t{});
    case ElementType::kInt16: return use(std::int16_t{});
    case ElementType::kUint16: return use(std::uint16_t{});
    case ElementType::kUint32: return use(std::uint32_t{});
    case ElementType::kUint64: return use(std::uint64_t{});
  }
}

template <std::integral To>
To Rounded(double value) {
  if (std::isnan(value)) return 0;
  // The largest 64-bit numbers have no double of their own: the next power of two is the first that does not fit.
  const double end = std::ldexp(1.0, std::numeric_limits<To>::digits);
  const double rounded = std::nearbyint(value);
  if (rounded >= end) return std::numeric_limits<To>::max();
  if (rounded < static_cast<double>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
  return static_cast<To>(rounded);
}

template <std::integral To, std::integral From>
To Saturated(From value) {
  if (std::cmp_less(value, std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
  if (std::cmp_greater(value, std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
  return static_cast<To>(value);
}

template <class To, class From>
To ConvertedNumber(From value) {
  if constexpr (std::same_as<From, Half>) {
    return ConvertedNumber<To>(FloatOfHalf(value.bits));
  } else if constexpr (std::same_as<To, Half>) {
    return {HalfOf(static_cast<float>(value))};
  } else if constexpr (std::floating_point<To>) {
    return static_cast<To>(value);
  } else if constexpr (std::integral<From>) {
    return Saturated<To>(value);
  } else {
    return Rounded<To>(static_cast<double>(value));
  }
}

template <class From, class To>
void ConvertAll(std::span<const std::byte> from, std::span<std::byte> to) {
  const auto count = from.size() / sizeof(From);
  for (std::size_t i = 0; i < count; ++i) {
    From value;
    std::memcpy(&value, from.data() + i * sizeof(From), sizeof(From));
    const auto converted = ConvertedNumber<To>(value);
    std::memcpy(to.data() + i * sizeof(To), &converted, sizeof(To));
  }
}

std::string ExtentText(std::uint64_t extent) { return extent == 0 ? "?" : std::to_string(extent); }

}  // namespace

std::size_t SizeOf(ElementType type) { return RowOf(type).size; }
std::string_view ElementTypeName(ElementType type) { return RowOf(type).name; }

std::optional<ElementType> ParseElementType(std::string_view name) {
  const auto found = std::ranges::find(kTypes, name, &TypeRow::name);
  if (found == kTypes.end()) return {};
  return found->type;
}

std::optional<std::uint64_t> CountOf(const Shape& shape) {
  constexpr std::uint64_t kLargest = std::uint64_t{1} << 48;
  std::uint64_t count = 1;
  for (const auto extent : shape) {
    if (extent != 0 && count > kLargest / extent) return {};
    count *= extent;
  }
  return count;
}

std::string ShapeText(const Shape& shape) {
  std::vector<std::string> extents;
  for (const auto extent : shape) extents.push_back(ExtentText(extent));
  return fmt::format("[{}]", fmt::join(extents, ", "));
}

std::string TypeText(const FieldType& type) {
  return fmt::format("{} {}", ElementTypeName(type.type), ShapeText(type.shape));
}

void ConvertElements(ElementType from_type, std::span<const std::byte> from, ElementType to_type,
                     std::span<std::byte> to) {
  if (from_type == to_type) {
    std::ranges::copy(from, to.begin());
    return;
  }
  WithType(from_type,
           [&]<class From>(From) { WithType(to_type, [&]<class To>(To) { ConvertAll<From, To>(from, to); }); });
}

std::uint16_t HalfOf(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000);
  const auto magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return static_cast<std::uint16_t>(sign | 0x7e00);   // NaN
  if (magnitude >= 0x477ff000) return static_cast<std::uint16_t>(sign | 0x7c00);  // rounds to more than 65504
  if (magnitude < 0x38800000) {  // below 2^-14: adding 0.5 lets the processor round to multiples of 2^-24
    const auto rounded = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(rounded) - 0x3f000000));
  }
  const auto odd = magnitude >> 13 & 1;
  return static_cast<std::uint16_t>(sign | ((magnitude - 0x38000000 + 0xfff + odd) >> 13));
}

float FloatOfHalf(std::uint16_t half) {
  const auto sign = static_cast<std::uint32_t>(half & 0x8000) << 16;
  const auto magnitude = static_cast<std::uint32_t>(half & 0x7fff);
  if (magnitude >= 0x7c00) return std::bit_cast<float>(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
  if (magnitude < 0x400) return (sign != 0 ? -1.0F : 1.0F) * static_cast<float>(magnitude) * 0x1p-24F;
  return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000));
}

}  // namespace slipway::staging
