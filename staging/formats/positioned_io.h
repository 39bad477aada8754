/// Reading and writing at a place of an open file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "core/units.h"

namespace slipway::staging {

/// Fills `out` from byte `offset` on. May be used by several threads on one file.
/// Errors: SystemError; Error(kEnvironment) when the file ends before: it has become shorter.
void ReadAt(int fd, std::uint64_t offset, std::span<std::byte> out, const std::filesystem::path& name);

/// All of `bytes`, whatever signals come. Errors: SystemError naming `path`, ENOSPC among them.
void WriteAt(int fd, std::span<const std::byte> bytes, std::uint64_t offset, std::string_view path);

/// Takes the blocks of a file before they are written. A file system that cannot (NFS before 4.2, Lustre) finds out
/// while writing. Errors: SystemError naming `path`, ENOSPC among them.
void Allocate(int fd, Bytes size, std::string_view path, std::uint64_t offset = 0);

}  // namespace slipway::staging
