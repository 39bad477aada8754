/// Memory that grows without copying what is in it.
#pragma once

#include <cstddef>
#include <span>

#include "core/memory_left.h"

namespace slipway::staging {

/// Move-only. Pages that were never written cost nothing.
class GrowingMemory {
 public:
  GrowingMemory() = default;
  /// `sources` outlive it.
  explicit GrowingMemory(const MemorySources& sources) : sources_(&sources) {}
  GrowingMemory(GrowingMemory&& other) noexcept;
  GrowingMemory& operator=(GrowingMemory&& other) noexcept;
  ~GrowingMemory();

  /// May move what is there: earlier bytes() are void. Errors: MemoryError, std::bad_alloc.
  void Append(std::span<const std::byte> more);
  std::span<const std::byte> bytes() const { return {begin_, size_}; }

 private:
  void Release() noexcept;

  const MemorySources* sources_ = nullptr;  ///< null: those of the kernel
  std::byte* begin_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace slipway::staging
