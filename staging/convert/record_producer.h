/// Where converted records come from: one small file for each source format, and one way to read them all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "staging/dataset/left_out.h"
#include "staging/formats/table_file.h"

namespace slipway::staging {

using ProducedField = TableField;

/// Records by number, all with the same fields. Used by one thread, in ascending order: another order is slow.
/// Errors of reads: Error(kEnvironment) naming the source and the record.
class RecordProducer {
 public:
  virtual ~RecordProducer() = default;

  virtual std::uint64_t record_count() const = 0;
  virtual const std::vector<ProducedField>& fields() const = 0;
  /// The numbers of one field in the machine's byte order. Valid until the next call.
  virtual std::span<const std::byte> Value(std::uint64_t record, std::size_t field) = 0;
  /// The record as a TFRecord file holds it, if the source is one. It is copied, not encoded again.
  virtual std::optional<std::span<const std::byte>> Payload(std::uint64_t) { return {}; }
  /// The record as a WebDataset shard holds it, if the source is one. It is copied as well.
  virtual std::optional<std::span<const std::byte>> Sample(std::uint64_t) { return {}; }
  /// Whether a field only says what another one holds, as the size of an image. Samples leave it out.
  virtual bool IsDerived(std::size_t /*field*/) const { return false; }
};

// Errors of all: Error(kEnvironment) naming the source: missing, damaged, no records, fields of different lengths.

/// Fields `image` and `label` from idx files, plain or gzip-compressed. Holds both in memory.
std::unique_ptr<RecordProducer> ProduceFromIdx(const std::filesystem::path& images,
                                               const std::filesystem::path& labels);
/// A field for each array, named as its file or member; the first dimension counts records.
std::unique_ptr<RecordProducer> ProduceFromNpy(const std::vector<std::filesystem::path>& files);
/// Images by their paths; the folder of an image is its class. Fields as below.
std::unique_ptr<RecordProducer> ProduceFromImages(const std::vector<std::filesystem::path>& files);
/// Records from DIRECTORY/CLASS/...: the images (ImageFilesIn) below each folder of DIRECTORY, undecoded, in the order
/// of the paths. Fields:
/// - `image`: the file's bytes
/// - `label`: the number of the class in the order of their names
/// - `class`: the name of the class
/// - `height`, `width`
///
/// Files that are not taken are added to `left_out`. Errors: also a class folder without an image.
std::unique_ptr<RecordProducer> ProduceFromImageFolders(const std::filesystem::path& directory,
                                                        std::vector<LeftOutFile>& left_out);
/// True when `directory` has folders with images in them.
bool HasImageFolders(const std::filesystem::path& directory);
/// Files of NumPy or WebDataset shards, record after record. Holds what TableFile holds of one of them.
std::unique_ptr<RecordProducer> ProduceFromTables(DataFormat format, const std::vector<std::filesystem::path>& files);
/// The fields of the first record; every record must have the same fields with the same number of values. A bytes
/// feature may have any length. Records whose values are not asked for need not be Examples. Reads every file twice,
/// the first time to count. Holds one file.
std::unique_ptr<RecordProducer> ProduceFromTfrecords(const std::vector<std::filesystem::path>& files);
/// A field for each dataset: numbers (truth values as uint8), strings and sequences of bytes. Any other content is an
/// error that names it. Reads a megabyte of numbers at a time.
std::unique_ptr<RecordProducer> ProduceFromHdf5(const std::vector<std::filesystem::path>& files);

}  // namespace slipway::staging
