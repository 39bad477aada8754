/// The reader that training programs use: records of a dataset by number, whatever the format of its files.
///
/// A *field* is one named value of a record: the TFRecord feature `image`, or row i of the HDF5 dataset `image`. Names
/// are the same in both formats, so a trainer can read `image` and `label` from either.
/// Record numbers count over all files in the order of their names, from 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "staging/dataset/dataset_files.h"
#include "staging/dataset/lease.h"
#include "staging/formats/example.h"
#include "staging/formats/stream_check.h"
#include "staging/reader/sharding.h"

namespace slipway::staging {

/// One field as the first record has it.
struct FieldInfo {
  std::string name;
  FeatureKind kind = FeatureKind::kNone;
  /// Bytes of the value for kBytes, else number of values.
  std::uint64_t count = 0;
  /// HDF5 only: the shape of one record ({28, 28}); empty where the format does not say it.
  std::vector<std::uint64_t> shape;
};

/// Where records come from; one implementation a format.
class RecordSource;

/// An open dataset. Several threads may read at once; HDF5 reads then wait for each other.
///
/// The files must not change while it is open: TFRecord files are mapped, so a shortened file would raise SIGBUS.
/// Staged generations never change. An open dataset leases its generation, so it cannot be removed.
class Dataset {
 public:
  /// `path` is one of: a staged directory (its manifest.json lists the files), a directory of data files without a
  /// manifest, or one file. Such a directory holds all TFRecord or all HDF5; other files and its folders are left out.
  /// The format is recognised by content. For a directory that is being staged (`data.NAME.overlap`) it waits until all
  /// files are there.
  ///
  /// Cost: TFRecord: one pass over the record headers, compressed files are inflated into memory. HDF5: the metadata.
  /// Errors: Error(kEnvironment): nothing there, no records, a damaged file, a first record that is no Example. Also
  ///         sizes or record counts that differ from the manifest, a manifest path outside the directory, files of
  ///         different formats or fields.
  static Dataset Open(const std::filesystem::path& path);
  /// The same from given files; they are sorted by name.
  static Dataset OpenFiles(std::vector<std::filesystem::path> files);

  Dataset(Dataset&&) noexcept;
  Dataset& operator=(Dataset&&) noexcept;
  ~Dataset();

  DataFormat format() const;
  std::uint64_t record_count() const;
  /// The files in record order.
  const std::vector<std::filesystem::path>& files() const;
  /// The fields of the first record, sorted by name.
  const std::vector<FieldInfo>& fields() const;
  /// Errors: Error(kUsage) naming the fields that exist.
  const FieldInfo& Field(std::string_view name) const;

  /// Fills `out` with the values of `field` for each of `records`, one record after the other.
  ///
  /// Shape:  every record has out.size() / records.size() values, exactly. The kinds are those of FieldInfo; ReadInts
  ///         also reads HDF5 datasets of bytes (labels are often stored so).
  /// Cost:   TFRecord: checks the record's CRC32C, no allocation per value; HDF5: one read for each run of
  ///         consecutive records.
  /// Errors: Error(kEnvironment) naming file and record: damaged, field missing, other kind or count;
  ///         Error(kUsage): record number out of range, shape that does not divide.
  void ReadBytes(std::span<const std::uint64_t> records, std::string_view field, std::span<std::byte> out) const;
  void ReadFloats(std::span<const std::uint64_t> records, std::string_view field, std::span<float> out) const;
  void ReadInts(std::span<const std::uint64_t> records, std::string_view field, std::span<std::int64_t> out) const;

  /// The same for one record.
  void ReadBytes(std::uint64_t record, std::string_view field, std::span<std::byte> out) const;
  void ReadFloats(std::uint64_t record, std::string_view field, std::span<float> out) const;
  std::int64_t ReadInt(std::uint64_t record, std::string_view field) const;

  /// TFRecord only: the payload of a record, its CRC32C checked; points into the mapped file.
  std::span<const std::byte> Record(std::uint64_t record) const;
  /// TFRecord only: the record as a tf.train.Example; points into the mapped file.
  ExampleView ReadExample(std::uint64_t record) const;

 private:
  explicit Dataset(const DatasetFiles& files);

  std::unique_ptr<RecordSource> source_;
  std::vector<Lease> leases_;
};

}  // namespace slipway::staging
