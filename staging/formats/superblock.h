/// The first bytes of an HDF5 file, read without the HDF5 library: enough to tell a truncated file.
///
/// Source: HDF5 File Format Specification 3.0, "Format Signature and Superblock" (versions 0 to 3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace slipway::staging {

/// A superblock lies at byte 0, 512, 1024 or 2048 here (a user block may stand before it).
inline constexpr std::size_t kSuperblockSearchBytes = 2048 + 96;

/// True when an HDF5 signature stands in `head`, the first bytes of a file.
bool HasHdf5Signature(std::span<const std::byte> head);

/// The size that the file `name` must have, from its first kSuperblockSearchBytes bytes (all, if it is shorter).
/// Errors: Error(kEnvironment): no signature, an unknown version, cut inside the superblock, not closed by its writer.
std::uint64_t Hdf5EndOfFile(std::span<const std::byte> head, const std::filesystem::path& name);

}  // namespace slipway::staging
