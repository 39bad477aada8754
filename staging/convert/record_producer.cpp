#include "staging/convert/record_producer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/error.h"

namespace slipway::staging {

std::uint64_t BytesPerValue(const ProducedField& field) {
  std::uint64_t bytes = SizeOf(field.type);
  for (const auto extent : field.shape) {
    if (!__builtin_mul_overflow(bytes, extent, &bytes)) continue;
    throw Error(ErrorKind::kEnvironment, fmt::format("a value of the field '{}' is too large to count", field.name),
                "check the shape of this field in the source");
  }
  return bytes;
}

void RequireValues(const ProducedField& field, const std::filesystem::path& source) {
  if (std::ranges::count(field.shape, 0) == 0) return;
  throw Error(ErrorKind::kEnvironment,
              fmt::format("'{}': '{}' has no values: the shape of a record is {}", source.string(), field.name,
                          fmt::join(field.shape, "x")),
              "leave it out");
}

}  // namespace slipway::staging
