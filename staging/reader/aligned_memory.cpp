#include "staging/reader/aligned_memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/memory_left.h"

namespace slipway::staging {

AlignedMemory AllocateAligned(std::size_t bytes) {
  constexpr std::size_t kAlignment = 64;
  void* memory = nullptr;
  if (::posix_memalign(&memory, kAlignment, std::max<std::size_t>(bytes, 1)) != 0) {
    throw MemoryError(ErrorKind::kEnvironment, fmt::format("there is no memory for {} bytes of a batch", bytes),
                      "take smaller batches or a smaller prefetch");
  }
  return AlignedMemory(static_cast<std::byte*>(memory));
}

}  // namespace slipway::staging
