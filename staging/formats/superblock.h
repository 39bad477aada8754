/// The superblock of an HDF5 file, read without the HDF5 library: enough to tell a truncated file.
///
/// Source: HDF5 File Format Specification 3.0, "Format Signature and Superblock" (versions 0 to 3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace slipway::staging {

inline constexpr std::size_t kHdf5SignatureBytes = 8;
/// Whether they begin with the signature that begins a superblock.
bool IsHdf5Signature(std::span<const std::byte> bytes);

/// A superblock lies at byte 0, 512, 1024, 2048, 4096, ...: what stands before it is the user block.
/// Returns the place to look at after `place`.
std::uint64_t NextSuperblockPlace(std::uint64_t place);

/// Finds the superblock in the bytes of a file that stream past.
class SuperblockSearch {
 public:
  /// All bytes of the file in order, in pieces of any size.
  void Update(std::span<const std::byte> bytes);

  /// From the signature on, at most as many bytes as a superblock has; empty when none was found.
  std::span<const std::byte> found() const;
  std::uint64_t place() const { return place_; }

 private:
  bool Collects() const;
  void GiveUpPlace();

  std::uint64_t seen_ = 0;
  std::uint64_t place_ = 0;
  std::vector<std::byte> collected_;
};

/// The size that the file `name` must have. What stands before the superblock may have been put there afterwards.
/// Errors: Error(kEnvironment): no signature, an unknown version, cut inside the superblock, not closed by its writer.
std::uint64_t Hdf5EndOfFile(const SuperblockSearch& search, const std::filesystem::path& name);

}  // namespace slipway::staging
