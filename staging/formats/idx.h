/// idx files, the format of MNIST and its relatives, plain or compressed with gzip.
///
/// Layout: two zero bytes, the type (0x08 = unsigned byte), the number of dimensions, each dimension as a big-endian
/// u32, the values. Source: http://yann.lecun.com/exdb/mnist
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace slipway::staging {

struct IdxArray {
  std::vector<std::uint64_t> shape;  ///< 1 to 4 dimensions; the first counts records
  std::vector<std::byte> values;     ///< unsigned bytes, the last dimension fastest

  std::uint64_t record_count() const { return shape[0]; }
  /// The values of one record. `record` < record_count().
  std::span<const std::byte> Record(std::uint64_t record) const;
};

/// The whole file. Memory: what the file really holds, whatever its header announces.
/// Errors: Error(kEnvironment) naming the file: not idx, another type than unsigned bytes, torn, bytes left over, a
///         damaged gzip stream.
IdxArray ReadIdx(const std::filesystem::path& path);

}  // namespace slipway::staging
