/// Memory that grows without copying what is in it.
#pragma once

#include <cstddef>
#include <span>

namespace slipway::staging {

/// Move-only. Pages that were never written cost nothing.
class GrowingMemory {
 public:
  GrowingMemory() = default;
  GrowingMemory(GrowingMemory&& other) noexcept;
  GrowingMemory& operator=(GrowingMemory&& other) noexcept;
  ~GrowingMemory();

  /// May move what is there: earlier bytes() are void. Errors: MemoryError, std::bad_alloc.
  void Append(std::span<const std::byte> more);
  std::span<const std::byte> bytes() const { return {begin_, size_}; }

 private:
  void Release() noexcept;

  std::byte* begin_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace slipway::staging
