/// Where the records of one file begin.
#pragma once

#include <cstdint>
#include <vector>

namespace slipway::staging {

/// Bytes of a file.
struct ByteRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  std::uint64_t size() const { return end - begin; }
};

/// Of a compressed TFRecord file: places in the inflated bytes. A record of a WebDataset begins where the sample before
/// ends: members that belong to no sample lie between them.
struct RecordIndex {
  std::vector<std::uint64_t> offsets;  ///< of every record, ascending; the first is 0
  std::uint64_t end = 0;               ///< the byte after the last record; of a TFRecord file its size

  bool operator==(const RecordIndex&) const = default;
};

}  // namespace slipway::staging
