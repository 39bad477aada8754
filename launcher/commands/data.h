/// `slipway data info|verify|convert`: what a data file holds, whether it is whole, and making one from idx files.
#pragma once

#include <filesystem>
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

struct DataConvertOptions {
  std::filesystem::path images;
  std::filesystem::path labels;
  std::filesystem::path destination;  ///< DIRECTORY/NAME
  std::string to = "tfrecord";        ///< tfrecord or hdf5
  int shards = 1;
};

/// Prints format, size, records and fields of every file (`slipway.data_info/1`). Returns the exit code.
/// Errors: Error(kEnvironment) at the first file that cannot be read as data.
int DataInfo(const DataInfoOptions& options, Output& output);

/// Reads every file whole and reports every bad one (`slipway.data_verify/1`). Returns 0 when all are good, else 1.
/// Errors: Error(kUsage) without a path.
int DataVerify(const DataVerifyOptions& options, Output& output);

/// Converts and prints the new files (`slipway.data_convert/1`). Returns the exit code.
/// Errors: Error(kUsage), Error(kEnvironment); nothing new is there then.
int DataConvert(const DataConvertOptions& options, Output& output);

}  // namespace slipway::launcher
