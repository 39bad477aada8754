/// Small HDF5 files: by our own writer, and with chunks and filters, which it does not make.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "staging/formats/hdf5.h"

namespace slipway::staging {

/// Creates a contiguous dataset and writes all of it.
inline void WriteDataset(Hdf5File& file, const Hdf5Dataset& dataset, std::span<const std::byte> values) {
  file.CreateDataset(dataset);
  file.WriteRows(dataset.name, 0, values);
}

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
