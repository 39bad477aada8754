/// `slipway data info|verify|stats|index|convert|reshard|make`: inspects, checks and makes data files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/output.h"

namespace slipway::launcher {

struct DataInfoOptions {
  std::vector<std::filesystem::path> paths;  ///< files, or directories of a dataset
};

struct DataVerifyOptions {
  std::vector<std::filesystem::path> paths;  ///< files, or directories of a dataset
};

struct DataStatsOptions {
  std::filesystem::path path;  ///< a file, or the directory of a dataset
};

struct DataIndexOptions {
  std::filesystem::path path;  ///< a TFRecord file, or the directory of a dataset
  bool write = false;          ///< into the directory
};

struct DataReshardOptions {
  std::filesystem::path source;
  std::filesystem::path destination;  ///< DIRECTORY/NAME
  int shards = 1;
};

struct DataConvertOptions {
  std::filesystem::path images;
  std::filesystem::path labels;
  std::filesystem::path destination;  ///< DIRECTORY/NAME
  std::string to = "tfrecord";        ///< tfrecord or hdf5
  int shards = 1;
  std::vector<std::filesystem::path> sources = {};  ///< instead of images and labels
  std::string compression = "none";                 ///< none, gzip or zlib
};

struct DataMakeOptions {
  std::string kind;  ///< hepcnn, cosmoflow or imagenet-like
  std::filesystem::path directory;
  std::string format = {};  ///< tfrecord or hdf5; empty = what the kind's trainer is known for
  std::uint64_t train = 2000;
  std::uint64_t test = 500;
  std::size_t size = 0;                       ///< of a side; 0 = the kind's own
  std::optional<std::uint64_t> classes = {};  ///< of pictures only
  std::optional<double> box = {};             ///< of cosmoflow only, Mpc/h
  int shards = 4;
  std::uint64_t seed = 1;
};

/// Prints format, compression, size, records and fields of every file (`slipway.data_info/1`). Also lists the other
/// files of a folder. Returns 0, or 1 when a file cannot be read as data; the other files are still shown.
/// Errors: Error(kEnvironment) for a path that holds no data.
int DataInfo(const DataInfoOptions& options, Output& output);

/// Reads every file completely and reports every bad one (`slipway.data_verify/1`). Also lists the other files of a
/// folder. Returns 0 when all are good, else 1.
/// Errors: Error(kUsage) without a path.
int DataVerify(const DataVerifyOptions& options, Output& output);

/// Converts and prints the new files (`slipway.data_convert/1`). Returns the exit code.
/// Errors: Error(kUsage), Error(kEnvironment); then no new file remains.
int DataConvert(const DataConvertOptions& options, Output& output);

/// Cuts TFRecord files on the borders of records and prints the new files (`slipway.data_reshard/1`). Returns the exit
/// code. Errors: as DataConvert.
int DataReshard(const DataReshardOptions& options, Output& output);

/// Makes training data from a seed, one file per processor at a time. Prints the new files (`slipway.data_make/1`).
/// Returns the exit code. Errors: as DataConvert.
int DataMake(const DataMakeOptions& options, Output& output);

/// Prints statistics of the values of every field (`slipway.data_stats/1`). Returns the exit code.
/// Errors: Error(kEnvironment) at the first damaged record.
int DataStats(const DataStatsOptions& options, Output& output);

/// Prints the offsets of the records and compares them with the stored index (`slipway.data_index/1`), or writes that
/// index. Returns 0, or 1 when the stored index differs.
/// Errors: Error(kUsage): not TFRecord, or writing for one file or a staged dataset; Error(kEnvironment): a damaged
/// file.
int DataIndex(const DataIndexOptions& options, Output& output);

}  // namespace slipway::launcher
