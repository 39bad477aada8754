/// Which format a file has, by looking into it.
#pragma once

#include <filesystem>

#include "staging/formats/stream_check.h"

namespace slipway::staging {

/// The format by content: an HDF5 signature, or a first TFRecord header whose length fits its CRC, also inside gzip or
/// zlib. For content without either (a damaged or empty file) by the name. Errors: SystemError when the file cannot be
/// read.
DataFormat DetectFormat(const std::filesystem::path& path);
/// How a TFRecord file is compressed, from its first bytes; kNone for every other file. Errors: as above.
Compression DetectCompression(const std::filesystem::path& path);

/// By the name's end: .tfrecord, .tfrecords, .tfrecord-00000-of-00010 (with .gz or .zlib behind it, too), .h5, .hdf5;
/// else kRaw.
DataFormat FormatOfName(const std::filesystem::path& path);

}  // namespace slipway::staging
