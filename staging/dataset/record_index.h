/// Where the records of TFRecord files or WebDataset shards begin, in one small file. It is written when the files were
/// checked, so no reader looks at every record's header again.
///
/// Form: "slipway.index/1\n", the number of files, then the numbers of each file. For each file: the number of records,
///       and the bytes of each record, less 16: the frame of a TFRecord. All numbers are varints of protocol buffers.
///       Last comes the CRC32C (4 bytes, little endian) of all bytes before. A record takes 1 to 4 bytes: 1.28 million
///       images need 4 MB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "staging/formats/record_places.h"
#include "staging/formats/stream_check.h"

namespace slipway::staging {

inline constexpr std::string_view kRecordIndexName = "records.index";

/// Whether files of this format get an index when they are checked.
constexpr bool HasRecordIndex(DataFormat format) {
  return format == DataFormat::kTfrecord || format == DataFormat::kWebdataset;
}

/// Errors: Error(kInternal) when offsets and end leave no space for the frame of a record.
std::string EncodeRecordIndices(std::span<const RecordIndex> files);

/// Errors: Error(kEnvironment) saying what is wrong: no index, torn, a wrong CRC, numbers that overflow.
/// Cost:   memory for 8 bytes a record; a count that the bytes cannot hold is refused before memory is taken.
std::vector<RecordIndex> DecodeRecordIndices(std::string_view bytes);

}  // namespace slipway::staging
