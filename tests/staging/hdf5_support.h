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

/// Three rows of what is none of numbers to HDF5 and can be read: `alive`, true false true as h5py writes it; `blob`,
/// sequences of bytes "\x01\x00\x02", "", "z"; `code`, strings of 4 bytes "ab", "", "wxyz"; `name`, strings of any
/// length "one", "", "three".
void MakeTextHdf5(const std::filesystem::path& path);

enum class Unread { kCompound, kEnumeration, kOneValue, kTable, kExternalLink };
/// Adds `extra`, which no record can take along, to the file; kTable has two strings in each row.
void AddUnread(const std::filesystem::path& path, Unread kind);

}  // namespace slipway::staging
