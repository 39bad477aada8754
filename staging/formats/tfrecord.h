/// TFRecord files: reading in place by record number, and writing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/unique_handle.h"
#include "staging/formats/mapped_file.h"

namespace slipway::staging {

/// A mapped file with an index of its records. Reads may come from several threads.
/// An empty file is a TFRecord file without records.
class TfrecordFile {
 public:
  /// Cost:   one pass over the record headers.
  /// Errors: Error(kEnvironment) naming file, record, byte offset and what was expected there: a length that fails its
  ///         CRC, a torn end, a gzip-compressed file.
  explicit TfrecordFile(std::filesystem::path path);

  const std::filesystem::path& path() const { return path_; }
  std::uint64_t byte_count() const { return file_.bytes().size(); }
  std::uint64_t record_count() const { return offsets_.size(); }
  /// Byte offset of every record's header.
  const std::vector<std::uint64_t>& offsets() const { return offsets_; }

  /// The data of a record, its CRC32C checked. `record` < record_count().
  /// Errors: Error(kEnvironment) as above when the data fails its CRC.
  std::span<const std::byte> Record(std::uint64_t record) const;

 private:
  std::filesystem::path path_;
  MappedFile file_;
  std::vector<std::uint64_t> offsets_;
};

/// Writes a new file at `path`, replacing one that is there. Complete and on the disk after Close().
class TfrecordWriter {
 public:
  explicit TfrecordWriter(std::filesystem::path path);

  void Write(std::span<const std::byte> data);
  void Write(std::string_view data);
  void Close();

 private:
  void Flush();

  std::filesystem::path path_;
  UniqueFd fd_;
  std::string buffer_;
};

}  // namespace slipway::staging
