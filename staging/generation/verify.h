/// Reads a published generation again and compares it with what its manifest says.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/units.h"

namespace slipway::staging {

struct BadFile {
  std::string path;                     ///< as the manifest names it
  std::optional<std::uint64_t> offset;  ///< of the first block that differs; nothing when it is not about bytes
  std::string reason;
};

/// Compares size, the CRC32C of every block and the number of records of each file.
///
/// `progress` is called with the bytes read so far and the file, after every block; it may throw to stop.
/// Result: the bad files, in the manifest's order; empty when all are good.
/// Errors: Error(kEnvironment) when there is no manifest, or one that cannot be read.
std::vector<BadFile> VerifyGeneration(const std::filesystem::path& directory,
                                      const std::function<void(Bytes done, const std::string& file)>& progress);

}  // namespace slipway::staging
