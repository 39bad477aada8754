/// One TFRecord file for the batch reader: records by number, mapped where the file never changes, else read; inflated
/// where it is compressed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "core/unique_handle.h"
#include "staging/dataset/dataset_files.h"
#include "staging/formats/mapped_file.h"
#include "staging/reader/inflated_files.h"

namespace slipway::staging {

/// How the records of a file will be read, for the kernel's read-ahead.
enum class AccessPattern { kInOrder, kAtRandom };

/// Whether a TFRecord file is a gzip or zlib stream, by its first bytes. Errors: SystemError.
bool IsCompressed(const std::filesystem::path& path);

/// Reads may come from several threads.
class RecordFile {
 public:
  /// With an index of its generation no byte of the records is looked at. Without one the record headers are read once,
  /// and a compressed file is inflated once. `inflated` outlives this object.
  /// Errors: Error(kEnvironment) naming file, record, byte offset and what was expected there; sizes and counts that
  ///         differ from the manifest or the index.
  RecordFile(const DatasetFile& file, AccessPattern pattern, InflatedFiles& inflated);

  const std::filesystem::path& path() const { return path_; }
  std::uint64_t record_count() const { return offsets_.size(); }
  bool mapped() const { return map_.has_value(); }

  /// The data of a record, its CRC32C checked: in the map, or read into `buffer`. `record` < record_count().
  /// Errors: Error(kEnvironment) as above; also when the file has become shorter or another since it was opened.
  std::span<const std::byte> Record(std::uint64_t record, std::vector<std::byte>& buffer) const;

  /// Asks the processor for the first bytes of a mapped record; the rest follows by itself.
  void Announce(std::uint64_t record) const;

 private:
  void Open(UniqueFd fd, bool staged, AccessPattern pattern);
  std::span<const std::byte> Frame(std::uint64_t record, std::vector<std::byte>& buffer) const;
  std::uint64_t EndOf(std::uint64_t record) const;

  std::filesystem::path path_;
  std::vector<std::uint64_t> offsets_;
  std::uint64_t end_ = 0;
  std::optional<MappedFile> map_;
  UniqueFd fd_;
  InflatedFiles* inflated_ = nullptr;  ///< of a compressed file
};

}  // namespace slipway::staging
