/// Arrays of numbers as batches hold them: element type, shape, bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace slipway::staging {

/// The values are those of slipway_reader_dtype and, up to kUint8, of slipway_dtype.
enum class ElementType {
  kFloat32 = 0,
  kFloat64 = 1,
  kInt32 = 2,
  kInt64 = 3,
  kFloat16 = 4,
  kUint8 = 6,
  kInt8 = 7,
  kInt16 = 8,
  kUint16 = 9,
  kUint32 = 10,
  kUint64 = 11
};

std::size_t SizeOf(ElementType type);
/// "float32", "uint8", ...: NumPy's names.
std::string_view ElementTypeName(ElementType type);
std::optional<ElementType> ParseElementType(std::string_view name);

/// The last dimension varies fastest. In the type of a field 0 stands for an extent that differs between records.
using Shape = std::vector<std::uint64_t>;

/// The product; nothing when it does not fit 2^48, more than any memory.
std::optional<std::uint64_t> CountOf(const Shape& shape);
/// "[28, 28]", an extent that differs as "?".
std::string ShapeText(const Shape& shape);

/// What all records of a field have in common.
struct FieldType {
  ElementType type = ElementType::kUint8;
  Shape shape;

  bool operator==(const FieldType&) const = default;
};

/// "uint8 [28, 28]".
std::string TypeText(const FieldType& type);

/// The values of one field of one record, in the machine's byte order; `values` need not be aligned.
struct Values {
  ElementType type = ElementType::kUint8;
  Shape shape;
  std::span<const std::byte> values;
};

/// Converts `from` to `to`, both of CountOf elements. Numbers outside the range of integers become its nearest end, NaN
/// becomes 0, fractions are rounded to the nearest number (ties to even).
void ConvertElements(ElementType from_type, std::span<const std::byte> from, ElementType to_type,
                     std::span<std::byte> to);

/// IEEE binary16, rounded to nearest even; too large numbers become infinite.
std::uint16_t HalfOf(float value);
float FloatOfHalf(std::uint16_t half);

}  // namespace slipway::staging
