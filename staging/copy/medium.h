/// Reads files again, from the medium and not from the page cache, and compares them with their CRCs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <vector>

#include "core/unique_handle.h"
#include "core/units.h"

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

/// Compares the size and the CRC32C of each kCrcBlock bytes with what was written, and returns the CRC32C of the whole.
///
/// Cost:   one read; direct I/O past the page cache where the file system has it, else cached pages may answer.
/// Errors: Error(kEnvironment) naming the file and the byte offset of the first block that differs; SystemError.
std::uint32_t ReadBack(const std::filesystem::path& path, Bytes size, const std::vector<std::uint32_t>& block_crcs,
                       const std::function<void(std::uint64_t done)>& on_block);

}  // namespace slipway::staging
