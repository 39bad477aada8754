/// Which format a file has, by looking into it.
#pragma once

#include <filesystem>

#include "staging/formats/stream_check.h"

namespace slipway::staging {

/// The format by content: a first TFRecord header whose length fits its CRC, also inside gzip or zlib; the magic of
/// tar, NumPy or an image; an HDF5 signature. For content without any (a damaged or empty file) by the name. Errors:
/// SystemError when the file cannot be read.
DataFormat DetectFormat(const std::filesystem::path& path);
/// How a TFRecord file is compressed, from its first bytes; kNone for every other file. Errors: as above.
Compression DetectCompression(const std::filesystem::path& path);

/// By the name's end: .tfrecord, .tfrecords, .tfrecord-00000-of-00010 (with .gz or .zlib behind it, too), .h5, .hdf5,
/// .tar, .npy, .npz; else kRaw. Names of images are those of their own walk (folder.h).
DataFormat FormatOfName(const std::filesystem::path& path);

}  // namespace slipway::staging
