/// Bytes at a place of an open file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace slipway::staging {

/// Fills `out` from byte `offset` on. May be used by several threads on one file.
/// Errors: SystemError; Error(kEnvironment) when the file ends before: it has become shorter.
void ReadAt(int fd, std::uint64_t offset, std::span<std::byte> out, const std::filesystem::path& name);

}  // namespace slipway::staging
