/// What the batch reader needs of a format: the wanted fields of one record, from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "staging/dataset/dataset_files.h"
#include "staging/dataset/lease.h"
#include "staging/reader/elements.h"
#include "staging/reader/hdf5_rows.h"
#include "staging/reader/record_borders.h"
#include "staging/reader/record_file.h"

namespace slipway::staging {

/// One field that is wanted of every record.
struct WantedField {
  std::string name;
  std::optional<ElementType> type;  ///< what the bytes of a TFRecord feature are; numbers have their own type
  std::optional<Shape> shape;       ///< of a TFRecord's values, which have none; else one dimension
  bool any_length = false;          ///< bytes of another length in each record: an encoded picture
};

/// Where the values of a field go, and where they are.
struct FetchedField {
  /// Memory for the values as they are stored, or empty. A source that must copy copies into it.
  std::span<std::byte> target;
  Values values;
};

/// Memory that a thread keeps between records.
struct FetchMemory {
  std::vector<std::byte> record;
  std::vector<std::vector<std::byte>> fields;  ///< one for each wanted field
  std::vector<ChunkMemory> chunks;             ///< the same
};

class FieldSource {
 public:
  virtual ~FieldSource() = default;

  /// The record number after the last of each file, ascending; the last is the number of all.
  const std::vector<std::uint64_t>& file_ends() const { return borders_.ends(); }
  const std::vector<std::filesystem::path>& files() const { return files_; }
  std::uint64_t record_count() const { return borders_.count(); }
  /// Of the wanted fields as they are stored; an extent of 0 differs between records.
  const std::vector<FieldType>& types() const { return types_; }

  /// The wanted fields of a record. The values stay valid until the next call with the same memory.
  /// Errors: Error(kEnvironment) that does not name the record: damaged, a field that is missing or has another form.
  virtual void Fetch(std::uint64_t record, FetchMemory& memory, std::span<FetchedField> fields) const = 0;

  /// The whole record, in the map or in `buffer`. Errors: as Fetch; Error(kUsage) where records are not stored whole.
  virtual std::span<const std::byte> Payload(std::uint64_t record, std::vector<std::byte>& buffer) const = 0;

  /// Errors: Error(kUsage) where records are not stored whole.
  virtual void RequireWholeRecords() const {}

  /// The record will be read soon: brings its bytes nearer where that is cheap.
  virtual void Announce(std::uint64_t) const {}
  /// Announces the records that will be fetched, in this order, after those announced before; `afresh`: instead of
  /// them. For sources whose files come and go.
  virtual void Expect(std::uint64_t /*epoch*/, std::span<const std::uint64_t> /*places*/, bool /*afresh*/) {}
  /// The first of the expected ones that were not released yet: they are not needed any more.
  virtual void Release(std::span<const std::uint64_t> /*places*/) {}
  /// Ends waits for files that are not there, with an error, until it is false again. From any thread.
  virtual void SetStopped(bool /*stopped*/) {}

  /// For as long as this object: the generations of its files stay.
  void Hold(std::vector<Lease> leases) { leases_ = std::move(leases); }

  /// "'FILE': record 3", counted in its file.
  std::string Describe(std::uint64_t record) const;

 protected:
  /// Errors: those of RecordBorders::AddFile.
  void AddFile(std::filesystem::path path, std::uint64_t records);
  /// Errors: Error(kEnvironment).
  void RequireRecords() const;

  std::vector<std::filesystem::path> files_;
  RecordBorders borders_;
  std::vector<FieldType> types_;

 private:
  std::vector<Lease> leases_;
};

/// Whether the error means a damaged record, which may be skipped. Other errors may not: a staging that has ended, an
/// unreadable file, a reader that is being closed.
bool IsDamage(const Error& error);

/// `fields` empty: whole records only. Errors: Error(kEnvironment): no records, a damaged file, sizes or record counts
/// that differ from the manifest, files of different fields. Error(kUsage): a field that the first record does not
/// have, or not in the wanted form.
std::unique_ptr<FieldSource> OpenFieldSource(const DatasetFiles& dataset, std::vector<WantedField> fields,
                                             AccessPattern pattern);
std::unique_ptr<FieldSource> OpenExampleFields(const DatasetFiles& dataset, std::vector<WantedField> fields,
                                               AccessPattern pattern);
/// For formats that do not store records whole.
[[noreturn]] void ThrowNotWhole(const std::filesystem::path& path, DataFormat format);
std::unique_ptr<FieldSource> OpenTableFields(const DatasetFiles& dataset, std::vector<WantedField> fields);
std::unique_ptr<FieldSource> OpenHdf5Fields(const DatasetFiles& dataset, std::vector<WantedField> fields);

}  // namespace slipway::staging
