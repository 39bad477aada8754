/// The data that the staging benchmark makes for itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "core/units.h"
#include "staging/formats/stream_check.h"

namespace slipway::bench {

struct DataShape {
  std::string name;  ///< "large" or "small"
  staging::DataFormat format = staging::DataFormat::kRaw;
  std::size_t files = 0;
  std::size_t directories = 1;
  Bytes file_size;  ///< of TFRecords about: whole records of 110 KB
};

/// Pseudo-random bytes, the same in every run; written to the disk before it returns. Returns the bytes of all files.
Bytes MakeData(const DataShape& shape, const std::filesystem::path& directory);

}  // namespace slipway::bench
