/// Turns idx images and labels into files that the reader reads: fields `image` (bytes) and `label` (int64).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "staging/formats/stream_check.h"

namespace slipway::staging {

struct ConvertOptions {
  std::filesystem::path images;  ///< idx with 2 to 4 dimensions, plain or .gz
  std::filesystem::path labels;  ///< idx with 1 dimension and as many records
  /// DIRECTORY/NAME, with or without the format's suffix. A directory alone (it exists, or ends in '/') means the name
  /// "train". TFRecord writes NAME-00000-of-00004.tfrecord and so on, HDF5 writes NAME.h5.
  std::filesystem::path destination;
  DataFormat to = DataFormat::kTfrecord;
  int shards = 1;  ///< TFRecord files; HDF5 is always one
  /// Called after every block of records, and at the end; may be empty.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;
};

struct ConvertResult {
  std::vector<std::filesystem::path> files;
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;
};

/// Record i of the images becomes record i of the result (over the shards in the order of their names).
/// All files appear together and complete; after an error nothing new is there.
/// Errors: Error(kUsage): shards that are none or more than records, another format than TFRecord or HDF5, a set of
///         another shard count under the same name; Error(kEnvironment): a damaged source, different record counts.
ConvertResult ConvertIdx(const ConvertOptions& options);

}  // namespace slipway::staging
