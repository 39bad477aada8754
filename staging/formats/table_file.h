/// A file of records that are read field by field: what a format implements so that Slipway converts, checks, counts
/// and reads it. One source file for each format; OpenTableFiles is the one place that knows them all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "staging/formats/hdf5.h"
#include "staging/formats/record_places.h"
#include "staging/formats/stream_check.h"

namespace slipway::staging {

/// One named value of every record.
struct TableField {
  std::string name;
  NumberType type = NumberType::kUint8;
  std::vector<std::uint64_t> shape;  ///< of one record; empty = one number
  bool any_length = false;           ///< bytes whose number differs between records; `shape` is empty then

  bool operator==(const TableField&) const = default;
};

/// Refuses a field whose records would all be empty: there may be any number of them. Errors: Error(kEnvironment)
/// naming the field.
void RequireValues(const TableField& field, const std::filesystem::path& source);
/// Errors: Error(kEnvironment) naming `path` when its fields are not those of the files before.
void RequireFields(const std::vector<TableField>& fields, const std::vector<TableField>& before,
                   const std::filesystem::path& path);
/// Bytes of one value. Errors: Error(kEnvironment) when they do not fit 64 bits.
std::uint64_t BytesPerValue(const TableField& field);

/// Records count from 0. Reads may come from several threads.
/// Errors of reads: Error(kEnvironment) that does not name the record: damaged, or a value of another form than that of
///         the first record.
class TableFile {
 public:
  virtual ~TableFile() = default;

  virtual std::uint64_t record_count() const = 0;
  virtual const std::vector<TableField>& fields() const = 0;
  /// The numbers of one field in the machine's byte order: in the file's map, or in `buffer`.
  virtual std::span<const std::byte> Value(std::uint64_t record, std::size_t field,
                                           std::vector<std::byte>& buffer) const = 0;
  /// The record as it is stored, in `buffer`. Nothing for formats that do not store records whole.
  virtual std::optional<std::span<const std::byte>> Whole(std::uint64_t /*record*/,
                                                          std::vector<std::byte>& /*buffer*/) const {
    return {};
  }
};

/// Whether OpenTableFiles opens files of this format.
bool IsTableFormat(DataFormat format);

struct TableInput {
  std::filesystem::path path;
  /// What is known about its records, or null. Used while the file is opened.
  const RecordIndex* index = nullptr;
};

/// One for each file, in their order. A file without records may have no fields; all others have the same.
/// Images: the folder of a file is its class, the folders lie in one folder, and their order gives the labels.
/// Errors: Error(kEnvironment) naming the file: damaged, other fields, an image that lies elsewhere.
std::vector<std::unique_ptr<TableFile>> OpenTableFiles(DataFormat format, const std::vector<TableInput>& files);

/// A shard of samples. Cost: all headers are read once; with an index those of a sample when it is read first. About 50
/// bytes of memory a sample.
std::unique_ptr<TableFile> OpenWebdataset(const TableInput& input);
/// The rows of the arrays of a .npz file, or of the one array of a .npy file, which is the field "values".
std::unique_ptr<TableFile> OpenNumpyTable(const std::filesystem::path& path);
/// One image. Fields: class, height, image, label, width. The file is opened when a value is read.
std::unique_ptr<TableFile> OpenImage(std::filesystem::path path, std::string class_name, std::uint64_t label);

/// Checks the format of these while their bytes stream past; each counts its records.
std::unique_ptr<StreamCheck> CheckWebdataset(std::filesystem::path name);
/// Of .npy: header and size. Of .npz: begin and directory; its members are checked when it is opened.
std::unique_ptr<StreamCheck> CheckNumpy(std::filesystem::path name);
/// The first bytes, and what ends a JPEG or PNG.
std::unique_ptr<StreamCheck> CheckImage(std::filesystem::path name);

}  // namespace slipway::staging
