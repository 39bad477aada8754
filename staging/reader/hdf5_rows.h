/// Rows of one HDF5 dataset, past the library's lock where its layout allows it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "staging/formats/hdf5.h"

namespace slipway::staging {

/// Memory that a thread keeps between rows: the last chunk that it unfiltered.
struct ChunkMemory {
  const void* owner = nullptr;
  std::uint64_t chunk = 0;
  std::vector<std::byte> stored;
  std::vector<std::byte> values;
};

/// Reads may come from several threads.
class Hdf5Rows {
 public:
  virtual ~Hdf5Rows() = default;

  /// Row `row` in the machine's byte order; `out` has row_bytes(). Errors: Error(kEnvironment).
  virtual void Read(std::uint64_t row, std::span<std::byte> out, ChunkMemory& memory) const = 0;
  /// The way of reading: "file", "chunks" or "library".
  virtual std::string_view way() const = 0;

  std::size_t row_bytes() const { return row_bytes_; }

 protected:
  explicit Hdf5Rows(const Hdf5Dataset& dataset) : row_bytes_(ValuesPerRow(dataset) * SizeOf(dataset.type)) {}

 private:
  std::size_t row_bytes_;
};

/// Chooses the way. Contiguous values and chunks of whole rows are read from the file itself; the caller's thread
/// undoes deflate, shuffle and fletcher32. Everything else waits for the library's lock.
std::unique_ptr<Hdf5Rows> OpenHdf5Rows(std::shared_ptr<Hdf5File> file, const std::filesystem::path& path,
                                       const Hdf5Dataset& dataset);

}  // namespace slipway::staging
