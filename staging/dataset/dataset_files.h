/// Which files a dataset consists of, and what they should be like.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "staging/dataset/lease.h"
#include "staging/dataset/left_out.h"
#include "staging/dataset/record_index.h"
#include "staging/formats/table_file.h"

namespace slipway::staging {

struct DatasetFile {
  std::filesystem::path path;
  /// What the manifest promises; nothing without one.
  std::optional<std::uint64_t> bytes;
  std::optional<std::uint64_t> records;
  /// Where the records begin, when the generation has a records.index.
  std::optional<RecordIndex> index;
  /// It lies in a generation, not behind a link. So it never changes, and may be mapped.
  bool staged = false;
};

struct DatasetFiles {
  DataFormat format = DataFormat::kRaw;    ///< not looked for with FolderReading::kEveryFile
  std::vector<DatasetFile> files;          ///< sorted by name, never empty
  std::vector<LeftOutFile> left_out = {};  ///< of a folder without a manifest
  std::vector<Lease> leases = {};          ///< keep the generations of the files in their tiers
};

/// How a folder without a manifest is read.
enum class FolderReading {
  kAsDataset,  ///< one dataset, of one format; folders in it are left out
  kEveryFile   ///< all data files, also of the folders in it, each for itself
};

/// `path` is one of: a directory with a manifest.json (schema slipway.manifest/1), a directory of files of one format
/// (see folder.h), or one file.
/// Errors: Error(kEnvironment): not there, no data files, several formats in one dataset. Also a broken manifest, one
///         that names a file outside its directory, and an index that is damaged or of other files. Error(kBusy): a
///         generation that is being removed.
DatasetFiles FindDatasetFiles(const std::filesystem::path& path, FolderReading reading = FolderReading::kAsDataset);

/// The given files, with the format of their content. Errors: Error(kEnvironment): none, or several formats.
DatasetFiles DescribeFiles(std::vector<std::filesystem::path> files);

/// The files with their indices, which belong to `dataset`.
std::vector<TableInput> TableInputsOf(const DatasetFiles& dataset);

/// For a file of none of the formats with records.
[[noreturn]] void ThrowNoData(const std::filesystem::path& path);

/// Errors: Error(kEnvironment) naming the file whose numbers differ from the manifest.
void CheckPromises(const DatasetFile& file, std::uint64_t bytes, std::optional<std::uint64_t> records);

}  // namespace slipway::staging
