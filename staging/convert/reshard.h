/// Splits TFRecord files, WebDataset shards or NumPy files into another number of files, at the borders of records.
/// Records are copied, not encoded again. Images become WebDataset shards.
#pragma once

#include <filesystem>
#include <vector>

#include "staging/convert/convert.h"

namespace slipway::staging {

struct ReshardOptions {
  std::filesystem::path source;       ///< a dataset's directory or one file, a pattern, or a name (ExpandSource)
  std::filesystem::path destination;  ///< as of ConvertOptions
  int shards = 1;
  ConvertProgress progress;
};

/// Record i stays record i. Every file gets the same number of records, or one more. Both CRCs of every record of a
/// TFRecord file are checked on the way. The result is not compressed, even if the sources are. Arrays keep their types
/// and values.
///
/// Cost:   two reads, one to count the records and one for the check. Plain bytes are copied inside the kernel where it
///         can (copy_file_range). One file of the source is open at a time, and in memory if it is compressed.
/// Errors: those of Convert; Error(kEnvironment) for two samples of one key in a new shard; Error(kUsage) for other
/// formats, or when source and destination are the same files.
ConvertResult Reshard(const ReshardOptions& options);

}  // namespace slipway::staging
