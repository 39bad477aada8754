/// Copies one file and checks it on the way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "staging/plan/plan.h"

namespace slipway::staging {

inline constexpr std::size_t kCopyBlock = 256 << 10;  ///< fits the second-level cache: larger ones are slower
inline constexpr std::size_t kCrcBlock = 4 << 20;

enum class Durability { kDisk, kMemory };

struct CopyOptions {
  DataFormat format = DataFormat::kRaw;
  VerifyMode verify = VerifyMode::kFormat;
  Durability durability = Durability::kDisk;  ///< kDisk: fsync at the end
};

struct CopiedFile {
  std::vector<std::uint32_t> crc32c;  ///< one for each kCrcBlock bytes
  std::optional<std::uint64_t> records;
};

/// Called with the bytes of this file done so far, after every block; may throw to stop.
using OnBlock = std::function<void(std::uint64_t done)>;

/// Creates `destination` with all its blocks allocated. Errors: SystemError, ENOSPC among them.
void ReserveFile(const std::filesystem::path& destination, Bytes size);

/// Copies into a reserved file; with an empty `destination` the file is only read and checked.
///
/// Result: the bytes are those of the planned file, in one state: a change of size, times or inode during the copy
///         starts it once more, or ends it.
/// Errors: Error(kEnvironment) naming the file: changed, damaged (StreamCheck), or different when read again (kFull).
CopiedFile CopyVerified(const SourceFile& source, const std::filesystem::path& destination, const CopyOptions& options,
                        const OnBlock& on_block);

}  // namespace slipway::staging
