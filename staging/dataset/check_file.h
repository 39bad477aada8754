/// Reads one data file from its first byte to its last and checks everything its format can check.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>

#include "staging/dataset/dataset_files.h"
#include "staging/formats/hdf5.h"
#include "staging/formats/stream_check.h"

namespace slipway::staging {

struct CheckedFile {
  DataFormat format = DataFormat::kRaw;
  std::uint64_t bytes = 0;
  std::optional<std::uint64_t> records;  ///< nothing where the datasets of an HDF5 file have different numbers of rows
  Hdf5Verification hdf5 = {};            ///< of HDF5 only
};

/// Checks a data file. TFRecord: both CRCs of every record. HDF5: the size, the metadata, and every value, which a
/// helper process reads once. So the file's own checksums are compared, if its writer chose any. Other formats: every
/// member and every value once. Last come the manifest's numbers, if `file` has them.
///
/// `progress` is called with the bytes read since its last call.
/// Errors: Error(kEnvironment) at the first thing wrong; also for a file of none of the formats.
CheckedFile CheckFile(const DatasetFile& file, const std::function<void(std::uint64_t bytes)>& progress);

}  // namespace slipway::staging
