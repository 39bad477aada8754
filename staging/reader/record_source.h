/// What the reader needs of a format: records by number over several files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "staging/dataset/dataset_files.h"
#include "staging/formats/hdf5.h"
#include "staging/reader/reader.h"
#include "staging/reader/record_borders.h"

namespace slipway::staging {

/// Record numbers are in range and `values` has the same number of values for every record: Dataset checks both.
/// Errors of reads: those of Dataset's reads.
class RecordSource {
 public:
  virtual ~RecordSource() = default;

  virtual std::uint64_t record_count() const = 0;
  virtual DataFormat format() const = 0;
  virtual void Read(std::span<const std::uint64_t> records, std::string_view field, std::span<std::byte> out) = 0;
  virtual void Read(std::span<const std::uint64_t> records, std::string_view field, std::span<float> out) = 0;
  virtual void Read(std::span<const std::uint64_t> records, std::string_view field, std::span<std::int64_t> out) = 0;
  /// The whole record, for formats that store records whole. Errors: Error(kUsage) for others.
  virtual std::span<const std::byte> Record(std::uint64_t record) = 0;

  const std::vector<std::filesystem::path>& files() const { return files_; }
  const std::vector<FieldInfo>& fields() const { return fields_; }

 protected:
  std::vector<std::filesystem::path> files_;
  std::vector<FieldInfo> fields_;  ///< sorted by name
};

std::unique_ptr<RecordSource> OpenTfrecordSource(const DatasetFiles& files);
std::unique_ptr<RecordSource> OpenHdf5Source(const DatasetFiles& files);
std::unique_ptr<RecordSource> OpenTableSource(const DatasetFiles& files);

/// What numbers are to the reader: int8 and uint8 are bytes.
FeatureKind KindOf(NumberType type);

/// What a row of the dataset is to the reader. Errors: those of ValuesPerRow.
FieldInfo FieldOf(const Hdf5Dataset& dataset);

}  // namespace slipway::staging
