/// Reads files again, from the medium and not from the page cache, and compares them with their CRCs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <vector>

#include "core/unique_handle.h"

namespace slipway::staging {

/// Reads a file from the first byte to the last, from the medium. Uses O_DIRECT where the file system can; otherwise
/// the clean pages are dropped first. In RAM the page cache is the medium.
class MediumReader {
 public:
  explicit MediumReader(const std::filesystem::path& path);
  ~MediumReader();
  MediumReader(const MediumReader&) = delete;
  MediumReader& operator=(const MediumReader&) = delete;

  /// The next bytes, at most 1 MiB; empty at the end. Errors: SystemError naming the file.
  std::span<const std::byte> Next();
  std::uint64_t size() const { return size_; }

 private:
  void Open();
  void ReadThroughCache();

  const std::filesystem::path path_;
  UniqueFd fd_;
  std::byte* buffer_;
  std::uint64_t offset_ = 0;
  std::uint64_t size_ = 0;
};

/// The numbers of the blocks of kCrcBlock bytes that differ from `crcs`, missing and surplus ones among them.
/// `on_piece` gets the bytes as they are read, and may throw.
std::vector<std::uint64_t> WrongBlocks(const std::filesystem::path& path, const std::vector<std::uint32_t>& crcs,
                                       const std::function<void(std::span<const std::byte>)>& on_piece);

}  // namespace slipway::staging
