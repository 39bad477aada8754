/// Memory for one piece of a file.
#pragma once

#include <cstddef>
#include <new>
#include <span>

namespace slipway::staging {

inline constexpr std::size_t kCopyBlock = 256 << 10;  ///< fits the second-level cache: larger ones are slower

/// Begins in the middle of a page. Files lie in whole pages, so source and copy never share the low bits of the
/// buffer's addresses. Processors that tell loads from stores by these bits copy more slowly otherwise.
class PieceBuffer {
 public:
  PieceBuffer() : pages_(static_cast<std::byte*>(::operator new(kHalf + kCopyBlock, std::align_val_t(2 * kHalf)))) {}
  ~PieceBuffer() { ::operator delete(pages_, std::align_val_t(2 * kHalf)); }
  PieceBuffer(const PieceBuffer&) = delete;
  PieceBuffer& operator=(const PieceBuffer&) = delete;

  std::span<std::byte> bytes() const { return {pages_ + kHalf, kCopyBlock}; }

 private:
  static constexpr std::size_t kHalf = 2048;
  std::byte* pages_;
};

}  // namespace slipway::staging
