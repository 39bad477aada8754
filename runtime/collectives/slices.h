/// How elements are dealt out: consecutive slices, as equal as can be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace slipway::runtime {

struct Slice {
  std::int64_t first = 0;
  std::int64_t count = 0;

  std::int64_t end() const { return first + count; }
};

inline std::size_t BytesOf(std::int64_t count, std::size_t element) { return static_cast<std::size_t>(count) * element; }

/// Slice `index` of `parts`: the first ones are one element longer where the division leaves a rest.
inline Slice SliceOf(std::int64_t count, int parts, int index) {
  const auto base = count / parts;
  const auto rest = count % parts;
  return {base * index + (index < rest ? index : rest), base + (index < rest ? 1 : 0)};
}

inline std::vector<Slice> SlicesOf(std::int64_t count, int parts) {
  std::vector<Slice> slices;
  for (int i = 0; i < parts; ++i) slices.push_back(SliceOf(count, parts, i));
  return slices;
}

}  // namespace slipway::runtime
