/// Reads a file again that was just written, from the medium where the file system allows it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "core/units.h"

namespace slipway::staging {

/// Compares the size and the CRC32C of each kCrcBlock bytes with what was written, and returns the CRC32C of the whole.
///
/// Cost:   one read; direct I/O past the page cache where the file system has it, else cached pages may answer.
/// Errors: Error(kEnvironment) naming the file and the byte offset of the first block that differs; SystemError.
std::uint32_t ReadBack(const std::filesystem::path& path, Bytes size, const std::vector<std::uint32_t>& block_crcs,
                       const std::function<void(std::uint64_t done)>& on_block);

}  // namespace slipway::staging
