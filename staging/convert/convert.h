/// Turns idx files, NumPy arrays, images in folders, WebDataset, TFRecord and HDF5 into files that the reader reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "staging/dataset/left_out.h"
#include "staging/formats/compression.h"
#include "staging/formats/stream_check.h"

namespace slipway::staging {

/// Called after every block of records, and at the end; may throw to stop.
using ConvertProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

struct ConvertOptions {
  std::filesystem::path images;  ///< idx with 2 to 4 dimensions, plain or .gz; with `labels`, and without `sources`
  std::filesystem::path labels;  ///< idx with 1 dimension and as many records
  /// DIRECTORY/NAME (ShardTargetOf). TFRecord writes NAME-00000-of-00004.tfrecord and so on, WebDataset the same with
  /// .tar, HDF5 writes NAME.h5.
  std::filesystem::path destination;
  DataFormat to = DataFormat::kTfrecord;
  int shards = 1;  ///< TFRecord files or tar shards; HDF5 is always one
  ConvertProgress progress = {};
  /// .npy and .npz files; or one directory of folders with images; or files or the directory of a dataset. Also
  /// patterns, and names under which Convert wrote files (ExpandSource).
  std::vector<std::filesystem::path> sources = {};
  Compression compression = Compression::kNone;  ///< of TFRecord files
};

struct ConvertResult {
  std::vector<std::filesystem::path> files;
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;
  std::vector<LeftOutFile> left_out = {};     ///< of a folder among the sources
  std::size_t source_files = 0;               ///< that were read
  DataFormat format = DataFormat::kTfrecord;  ///< of the new files
};

bool IsTargetOfConvert(DataFormat format);

/// Record i of the source becomes record i of the result (over the shards in the order of their names). All files
/// appear together and complete; after an error nothing new is there.
/// Errors: Error(kUsage): no shards or more shards than records, another target format, compressed HDF5 or
///         WebDataset. Also sources that do not belong together, and an existing set of the same name with another
///         shard count. Error(kEnvironment): a damaged source, different record counts, values that the format cannot
///         hold.
ConvertResult Convert(const ConvertOptions& options);

}  // namespace slipway::staging
