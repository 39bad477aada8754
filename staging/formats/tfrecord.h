/// TFRecord files: reading in place by record number, and writing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/unique_handle.h"
#include "staging/formats/compression.h"
#include "staging/formats/growing_memory.h"
#include "staging/formats/mapped_file.h"

namespace slipway::staging {

/// The most that a compressed file may inflate to; more is refused before memory is taken.
inline constexpr std::uint64_t kInflateLimit = 64ULL << 30;

/// What a compressed file inflates to.
struct InflatedTfrecords {
  GrowingMemory frames;                ///< of all records
  std::vector<std::uint64_t> offsets;  ///< of every record's header in it
};

/// Inflates and checks all of it. Errors: Error(kEnvironment) as TfrecordFile; more than `limit` bytes.
InflatedTfrecords InflateTfrecords(const std::filesystem::path& path, std::uint64_t limit = kInflateLimit);

/// A file in memory with an index of its records. Reads may come from several threads.
/// An empty file is a TFRecord file without records. A file that is compressed with gzip or zlib is one, too.
class TfrecordFile {
 public:
  /// Cost: plain files are mapped, with one pass over the record headers. Compressed files are inflated and checked
  ///       once (some 0.3 GB/s). They take memory of the inflated size as long as this object lives. Only checked
  ///       records count as inflated.
  /// Errors: Error(kEnvironment) naming file, record, byte offset and what was expected there. Causes: a length that
  ///         fails its CRC, a torn end, a damaged compressed file, or one that inflates to more than `inflate_limit`
  ///         bytes.
  explicit TfrecordFile(std::filesystem::path path, std::uint64_t inflate_limit = kInflateLimit);

  const std::filesystem::path& path() const { return path_; }
  std::uint64_t byte_count() const { return file_.bytes().size(); }
  std::uint64_t record_count() const { return offsets_.size(); }
  Compression compression() const { return compression_; }
  /// All frames of all records: the file's bytes, or what they inflate to.
  std::span<const std::byte> frames() const {
    return compression_ == Compression::kNone ? file_.bytes() : inflated_.bytes();
  }
  /// Byte offset of every record's header in frames().
  const std::vector<std::uint64_t>& offsets() const { return offsets_; }

  /// The data of a record, its CRC32C checked. `record` < record_count().
  /// Errors: Error(kEnvironment) as above when the data fails its CRC.
  std::span<const std::byte> Record(std::uint64_t record) const;

 private:
  std::filesystem::path path_;
  MappedFile file_;
  Compression compression_;
  GrowingMemory inflated_;
  std::vector<std::uint64_t> offsets_;
};

/// Writes a new file at `path`, replacing one that is there. Complete and on the disk after Close().
class TfrecordWriter {
 public:
  explicit TfrecordWriter(std::filesystem::path path, Compression compression = Compression::kNone);
  TfrecordWriter(TfrecordWriter&&) noexcept;
  TfrecordWriter& operator=(TfrecordWriter&&) noexcept;
  ~TfrecordWriter();

  void Write(std::span<const std::byte> data);
  void Write(std::string_view data);
  void Close();

 private:
  void Flush();

  std::filesystem::path path_;
  UniqueFd fd_;
  std::optional<Deflater> deflater_;
  std::string buffer_;
};

}  // namespace slipway::staging
