/// HDF5 files with chunks and filters, which our own writer does not make.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace slipway::staging {

struct ChunkedFile {
  std::vector<std::uint64_t> shape = {5, 4};
  std::vector<std::uint64_t> chunk = {2, 4};
  bool shuffle = false;
  bool deflate = false;
  bool fletcher32 = false;
  std::uint64_t user_block = 0;
  std::uint64_t rows_written = ~0ULL;  ///< the others stay without chunks
};

/// The dataset `values`, int16, value = its number in row-major order.
void MakeChunkedHdf5(const std::filesystem::path& path, const ChunkedFile& options);
/// The dataset `words`, three strings of variable length in one chunk, and `values`, big-endian float32 [3].
void MakeForeignHdf5(const std::filesystem::path& path);

}  // namespace slipway::staging
