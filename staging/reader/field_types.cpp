#include "staging/reader/field_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <set>
#include <utility>

#include "core/error.h"

namespace slipway::staging {

ElementType ElementOf(NumberType type) {
  switch (type) {
    case NumberType::kInt8: return ElementType::kInt8;
    case NumberType::kUint8: return ElementType::kUint8;
    case NumberType::kInt16: return ElementType::kInt16;
    case NumberType::kUint16: return ElementType::kUint16;
    case NumberType::kInt32: return ElementType::kInt32;
    case NumberType::kUint32: return ElementType::kUint32;
    case NumberType::kInt64: return ElementType::kInt64;
    case NumberType::kUint64: return ElementType::kUint64;
    case NumberType::kFloat32: return ElementType::kFloat32;
    case NumberType::kFloat64: return ElementType::kFloat64;
  }
  return ElementType::kUint8;
}

namespace {

/// How many values lie before the end of each dimension, from the last one on.
std::set<std::uint64_t> Strides(const Shape& shape) {
  std::set<std::uint64_t> strides;
  std::uint64_t stride = 1;
  for (const auto length : std::views::reverse(shape)) strides.insert(stride *= length);
  strides.erase(1);
  return strides;
}

/// The same values in the same places: [768] or [3, 256] for [3, 16, 16]. Not [16, 16, 3], whose channels come last.
bool IsOtherWordFor(const Shape& one, const Shape& other) {
  const auto all = Strides(one);
  const auto some = Strides(other);
  return CountOf(one) == CountOf(other) && (std::ranges::includes(all, some) || std::ranges::includes(some, all));
}

}  // namespace

FieldType TypeOfNumbers(const WantedField& wanted, NumberType stored, Shape shape) {
  FieldType type{ElementOf(stored), std::move(shape)};
  if (wanted.any_length) {
    if (type.type != ElementType::kUint8 || type.shape.size() != 1) {
      throw Error(ErrorKind::kUsage, fmt::format("field '{}': {} is no encoded picture", wanted.name, TypeText(type)),
                  "decode only fields of encoded bytes");
    }
    return {ElementType::kUint8, {0}};
  }
  const bool same_values = !wanted.shape || IsOtherWordFor(*wanted.shape, type.shape);
  if (!same_values || (wanted.type && *wanted.type != type.type)) {
    throw Error(ErrorKind::kUsage,
                fmt::format("field '{}' has {}, not {}", wanted.name, TypeText(type),
                            TypeText({wanted.type.value_or(type.type), wanted.shape.value_or(type.shape)})),
                "use the transform 'cast' for another type");
  }
  if (wanted.shape) type.shape = *wanted.shape;
  return type;
}

}  // namespace slipway::staging
