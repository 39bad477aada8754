#include "staging/reader/hdf5_rows.h"

#include <fcntl.h>

#include <algorithm>
#include <string>
#include <utility>

#include "core/error.h"
#include "core/files.h"
#include "staging/formats/positioned_io.h"
#include "staging/reader/hdf5_filters.h"

namespace slipway::staging {

namespace {

/// HDF5's own limit.
constexpr std::uint64_t kMostChunkBytes = std::uint64_t{1} << 32;

/// By the library.
class LibraryRows final : public Hdf5Rows {
 public:
  LibraryRows(std::shared_ptr<Hdf5File> file, Hdf5Dataset dataset)
      : Hdf5Rows(dataset), file_(std::move(file)), dataset_(std::move(dataset)) {}

  void Read(std::uint64_t row, std::span<std::byte> out, ChunkMemory&) const override {
    file_->ReadRows(dataset_.name, row, row + 1, dataset_.type, out);
  }
  std::string_view way() const override { return "library"; }

 private:
  std::shared_ptr<Hdf5File> file_;
  Hdf5Dataset dataset_;
};

/// All values in one piece.
class ContiguousRows final : public Hdf5Rows {
 public:
  ContiguousRows(const Hdf5Dataset& dataset, std::filesystem::path path, std::uint64_t offset)
      : Hdf5Rows(dataset), path_(std::move(path)), fd_(OpenFile(path_, O_RDONLY)), offset_(offset) {}

  void Read(std::uint64_t row, std::span<std::byte> out, ChunkMemory&) const override {
    ReadAt(fd_.get(), offset_ + row * row_bytes(), out, path_);
  }
  std::string_view way() const override { return "file"; }

 private:
  std::filesystem::path path_;
  UniqueFd fd_;
  std::uint64_t offset_;
};

/// Chunks of whole rows.
class ChunkRows final : public Hdf5Rows {
 public:
  ChunkRows(std::shared_ptr<Hdf5File> file, const Hdf5Dataset& dataset, std::filesystem::path path, Hdf5Layout layout)
      : Hdf5Rows(dataset),
        file_(std::move(file)),
        name_(dataset.name),
        path_(std::move(path)),
        fd_(OpenFile(path_, O_RDONLY)),
        rows_(layout.chunk_shape[0]),
        filters_(std::move(layout.filters)),
        chunks_(std::move(layout.chunks)) {}

  void Read(std::uint64_t row, std::span<std::byte> out, ChunkMemory& memory) const override {
    const auto number = row / rows_;
    const auto begin = row % rows_ * row_bytes();
    const auto* chunk = Find(number * rows_);
    if (chunk == nullptr) {
      std::ranges::fill(out, std::byte{0});  // never written
    } else if (filters_.empty()) {
      ReadAt(fd_.get(), *chunk->offset + begin, out, path_);
    } else {
      Load(number, *chunk, memory);
      std::ranges::copy(std::span(memory.values).subspan(begin, row_bytes()), out.begin());
    }
  }
  std::string_view way() const override { return filters_.empty() ? "file" : "chunks"; }

 private:
  const Hdf5Chunk* Find(std::uint64_t first_row) const {
    const auto row_of = [](const Hdf5Chunk& chunk) { return chunk.origin[0]; };
    const auto found = std::ranges::lower_bound(chunks_, first_row, {}, row_of);
    return found == chunks_.end() || row_of(*found) != first_row ? nullptr : &*found;
  }

  void Load(std::uint64_t number, const Hdf5Chunk& chunk, ChunkMemory& memory) const {
    if (memory.owner == this && memory.chunk == number) return;
    memory.owner = nullptr;
    const auto skipped = ReadStored(chunk, memory.stored);
    UndoFilters(filters_, skipped, rows_ * row_bytes(), memory.stored, memory.values);
    memory.owner = this;
    memory.chunk = number;
  }

  /// A chunk whose place is not known comes from the library, but as it is stored: the lock is held for the read alone.
  unsigned ReadStored(const Hdf5Chunk& chunk, std::vector<std::byte>& stored) const {
    if (!chunk.offset) return file_->ReadChunk(name_, chunk.origin, stored);
    stored.resize(chunk.bytes);
    ReadAt(fd_.get(), *chunk.offset, stored, path_);
    return chunk.skipped_filters;
  }

  std::shared_ptr<Hdf5File> file_;
  std::string name_;
  std::filesystem::path path_;
  UniqueFd fd_;
  std::uint64_t rows_;
  std::vector<Hdf5Filter> filters_;
  std::vector<Hdf5Chunk> chunks_;  ///< those that were written, by their first row; however many rows the file promises
};

/// Every chunk holds whole rows, and lies at a known place or can be unfiltered here.
bool HasRowChunks(const Hdf5Layout& layout, const Hdf5Dataset& dataset) {
  const auto whole_rows = std::equal(dataset.shape.begin() + 1, dataset.shape.end(), layout.chunk_shape.begin() + 1,
                                     layout.chunk_shape.end());
  const auto row_bytes = ValuesPerRow(dataset) * SizeOf(dataset.type);
  const auto bytes_fit = row_bytes > 0 && layout.chunk_shape[0] <= kMostChunkBytes / row_bytes;
  const auto usable = [&](const Hdf5Chunk& chunk) {
    const bool whole = !layout.filters.empty() || chunk.bytes == layout.chunk_shape[0] * row_bytes;
    return (chunk.offset || !layout.filters.empty()) && chunk.bytes <= kMostChunkBytes && whole &&
           chunk.origin[0] < dataset.shape[0];
  };
  return whole_rows && bytes_fit && CanUndo(layout.filters) && std::ranges::all_of(layout.chunks, usable);
}

}  // namespace

std::unique_ptr<Hdf5Rows> OpenHdf5Rows(std::shared_ptr<Hdf5File> file, const std::filesystem::path& path,
                                       const Hdf5Dataset& dataset) {
  auto layout = file->Layout(dataset.name);
  if (layout.as_in_memory && layout.storage == Hdf5Storage::kContiguous && layout.offset) {
    return std::make_unique<ContiguousRows>(dataset, path, *layout.offset);
  }
  if (layout.as_in_memory && layout.storage == Hdf5Storage::kChunked && HasRowChunks(layout, dataset)) {
    return std::make_unique<ChunkRows>(std::move(file), dataset, path, std::move(layout));
  }
  return std::make_unique<LibraryRows>(std::move(file), dataset);
}

}  // namespace slipway::staging
