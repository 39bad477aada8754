/// Where the records of TFRecord files begin, in one small file. It is written when the files were checked, so no
/// reader looks at every record's header again.
///
/// Form: "slipway.index/1\n", the number of files, then the numbers of each file. For each file: the number of records,
///       and the length of each record's data. All numbers are varints of protocol buffers. Last comes the CRC32C (4
///       bytes, little endian) of all bytes before. A record takes 1 to 4 bytes: 1.28 million images need 4 MB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace slipway::staging {

inline constexpr std::string_view kRecordIndexName = "records.index";

/// The records of one file. Of a compressed file the offsets are those in the inflated bytes.
struct RecordIndex {
  std::vector<std::uint64_t> offsets;  ///< of every record's header, ascending; the first is 0
  std::uint64_t end = 0;               ///< the byte after the last record: the size of the file

  bool operator==(const RecordIndex&) const = default;
};

/// Errors: Error(kInternal) when offsets and end leave no space for the frame of a record.
std::string EncodeRecordIndices(std::span<const RecordIndex> files);

/// Errors: Error(kEnvironment) saying what is wrong: no index, torn, a wrong CRC, numbers that overflow.
/// Cost:   memory for 8 bytes a record; a count that the bytes cannot hold is refused before memory is taken.
std::vector<RecordIndex> DecodeRecordIndices(std::string_view bytes);

}  // namespace slipway::staging
