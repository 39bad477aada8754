/// manifest.json of a staged dataset: what it holds and what it was made from. It is written last, so a directory with
/// a manifest is complete.
///
/// Form ("slipway.manifest/1"):
/// - schema, name, format, verify, created, generation, bytes
/// - records: number or null
/// - index: null, or path, bytes and crc32c of the record index
/// - files: path (relative to the manifest, UTF-8), bytes, source, mtime_ns, inode, records, and crc32c. crc32c has 8
///   hex digits for each block of 4 MiB; it is empty when the file was never read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.h"
#include "staging/dataset/verify_mode.h"
#include "staging/formats/stream_check.h"

namespace slipway::staging {

/// The blocks in which files are checked: a manifest and a journal hold one CRC32C for each.
inline constexpr std::size_t kCrcBlock = 4 << 20;

/// How many blocks a file has; the last one may be shorter.
constexpr std::uint64_t CrcBlocksOf(Bytes size) { return size.count / kCrcBlock + (size.count % kCrcBlock != 0); }

inline constexpr std::string_view kManifestName = "manifest.json";

struct ManifestFile {
  std::string path;
  Bytes bytes;
  std::string source;  ///< for people: bytes that are no UTF-8 stand as "%XX"
  std::int64_t mtime_ns = 0;
  std::uint64_t inode = 0;
  std::vector<std::uint32_t> crc32c;
  std::optional<std::uint64_t> records;
};

/// The record index beside the manifest (record_index.h).
struct ManifestIndex {
  std::string path;
  Bytes bytes;
  std::uint32_t crc32c = 0;
};

struct Manifest {
  std::string name;
  DataFormat format = DataFormat::kRaw;
  VerifyMode verify = VerifyMode::kFormat;
  std::string created;
  std::string generation;
  std::vector<ManifestFile> files;
  std::optional<ManifestIndex> index = {};

  Bytes TotalBytes() const;
  /// Nothing when one file has no count.
  std::optional<std::uint64_t> TotalRecords() const;
};

std::string RenderManifest(const Manifest& manifest);

/// What all files are together.
struct ManifestTotals {
  Bytes bytes;
  std::optional<std::uint64_t> records;  ///< nothing when one file has no count
};

/// Sets all members of `file` to those of file `i`. `file` holds those of the file before, with their memory.
using FillManifestFile = std::function<void(std::size_t i, ManifestFile& file)>;

/// Writes manifest.json durably, without a second list of the files: there may be 100,000s of them.
/// `head`: a manifest without files. `fill` is called for each of the `count` files, in order.
void WriteManifest(const std::filesystem::path& path, const Manifest& head, const ManifestTotals& totals,
                   std::size_t count, const FillManifestFile& fill);

/// Whether the manifest at `path` is one of `head` and of the `count` files that `fill` gives. `created` and `index`
/// of `head` are not compared, nor `crc32c` and `records` of the files. The file is read piece by piece.
/// Result: the index that the manifest names, which may be none. Nothing for another, a damaged or a missing manifest.
/// Errors: SystemError when it cannot be read.
struct FoundManifest {
  std::optional<ManifestIndex> index;
};
std::optional<FoundManifest> FindManifestOf(const std::filesystem::path& path, const Manifest& head, std::size_t count,
                                            const FillManifestFile& fill);
/// Errors: Error(kEnvironment) saying what is wrong with the text.
Manifest ParseManifest(std::string_view text);

}  // namespace slipway::staging
