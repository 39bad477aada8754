/// Which files a dataset consists of, and what they should be like.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "staging/dataset/record_index.h"
#include "staging/formats/stream_check.h"

namespace slipway::staging {

struct DatasetFile {
  std::filesystem::path path;
  /// What the manifest promises; nothing without one.
  std::optional<std::uint64_t> bytes;
  std::optional<std::uint64_t> records;
  /// Where the records begin, when the generation has a records.index.
  std::optional<RecordIndex> index;
  /// It lies in a generation and not behind a link: nobody changes it, so it may be mapped.
  bool staged = false;
};

struct DatasetFiles {
  DataFormat format = DataFormat::kRaw;
  std::vector<DatasetFile> files;  ///< sorted by name, never empty
};

/// `path` is a directory with a manifest.json (schema slipway.manifest/1), a directory of *.tfrecord or of *.h5 files,
/// or one file. Errors: Error(kEnvironment): not there, no data files, both formats, a manifest that is broken or that
///         names a file outside its directory, an index that is damaged or of other files.
DatasetFiles FindDatasetFiles(const std::filesystem::path& path);

/// The given files, with the format of their content. Errors: Error(kEnvironment): none, or several formats.
DatasetFiles DescribeFiles(std::vector<std::filesystem::path> files);

/// Errors: Error(kEnvironment) naming the file whose numbers are not those of the manifest.
void CheckPromises(const DatasetFile& file, std::uint64_t bytes, std::optional<std::uint64_t> records);

}  // namespace slipway::staging
