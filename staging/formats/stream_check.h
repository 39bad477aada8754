/// Checks the bytes of one file while they stream past, whatever the format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/words.h"
#include "staging/formats/compression.h"

namespace slipway::staging {

/// The words stand in manifests.
enum class DataFormat { kTfrecord, kHdf5, kWebdataset, kNumpy, kImages, kRaw };
WordTable<DataFormat> WordsOf(DataFormat);

struct StreamSummary {
  std::optional<std::uint64_t> records;       ///< nothing where the format has no cheap count
  std::vector<std::uint64_t> record_offsets;  ///< as in RecordIndex: TFRecord and WebDataset, else empty
  std::uint64_t record_bytes = 0;             ///< where the last of these records ends
  Compression compression = Compression::kNone;
};

/// Feed it all bytes of a file in order, in pieces of any size; then Finish().
/// A TFRecord file may be compressed with gzip or zlib: it is inflated on the way, in bounded memory.
/// Errors: Error(kEnvironment) naming the file, the record number, the byte offset and what was expected there.
class StreamCheck {
 public:
  virtual ~StreamCheck() = default;
  /// Returns the CRC32C of these bytes. Cost: the bytes are read once.
  virtual std::uint32_t Update(std::span<const std::byte> bytes) = 0;
  /// The file is complete: a torn end is an error.
  virtual StreamSummary Finish() = 0;
};

/// Feeds all bytes of the file at `path` to `check`, and says of each piece how long it is. The file is read and not
/// mapped: one that becomes shorter meanwhile is torn, and no signal.
/// Errors: those of the check; SystemError.
void FeedFile(const std::filesystem::path& path, StreamCheck& check,
              const std::function<void(std::uint64_t)>& progress = {});

/// Whether record data that fails its CRC32C is an error, or left to the reader. A wrong length is always an error: it
/// would hide where the next record begins.
enum class RecordContents { kChecked, kLeft };

/// `name` is what messages call the file.
std::unique_ptr<StreamCheck> MakeStreamCheck(DataFormat format, std::filesystem::path name,
                                             RecordContents contents = RecordContents::kChecked);

}  // namespace slipway::staging
