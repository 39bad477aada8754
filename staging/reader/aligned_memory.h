/// Memory for arrays of numbers: begins at a cache line.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>

namespace slipway::staging {

struct FreeMemory {
  void operator()(std::byte* memory) const { std::free(memory); }
};
using AlignedMemory = std::unique_ptr<std::byte, FreeMemory>;

/// Errors: MemoryError when there is not so much.
AlignedMemory AllocateAligned(std::size_t bytes);

}  // namespace slipway::staging
