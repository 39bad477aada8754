/// Writing at a place in a file, whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/units.h"

namespace slipway::staging {

/// What MemoryError names where copies lie in RAM.
inline constexpr const char* kCopiesInMemory = "the staged files in RAM";

/// All of `bytes`, whatever signals come. Errors: SystemError naming `path`, ENOSPC among them.
void WriteAt(int fd, std::span<const std::byte> bytes, std::uint64_t offset, std::string_view path);

/// Takes the blocks of a file before they are written. A file system that cannot (NFS before 4.2, Lustre) finds out
/// while writing. Errors: SystemError naming `path`, ENOSPC among them.
void Allocate(int fd, Bytes size, std::string_view path, std::uint64_t offset = 0);

}  // namespace slipway::staging
