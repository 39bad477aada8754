// Where the values of a dataset lie in its file, and reading stored chunks as they are.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/error.h"
#include "core/files.h"
#include "staging/formats/hdf5_library.h"

namespace slipway::staging {
namespace {

[[noreturn]] void ThrowDamaged(const OpenDataset& dataset, std::string_view what) {
  throw Error(ErrorKind::kEnvironment,
              fmt::format("'{}': the dataset '{}' {}", dataset.file.string(), dataset.name, what),
              "the file is damaged: copy it again from its source");
}

/// What the superblock says about all of the file.
struct FileFacts {
  hsize_t user_block = 0;
  std::size_t address_bytes = 0;
};

FileFacts FactsOf(hid_t dataset) {
  const FileId file(H5Iget_file_id(dataset));
  const PropertyId creation(H5Fget_create_plist(file.get()));
  FileFacts facts;
  std::size_t length_bytes = 0;
  if (H5Pget_userblock(creation.get(), &facts.user_block) < 0 ||
      H5Pget_sizes(creation.get(), &facts.address_bytes, &length_bytes) < 0) {
    return {1, sizeof(haddr_t)};
  }
  return facts;
}

std::uint64_t StoredSize(hid_t type, std::size_t address_bytes);

std::uint64_t StoredSizeOfCompound(hid_t type, std::size_t address_bytes) {
  std::uint64_t bytes = H5Tget_size(type);
  for (int i = 0; i < H5Tget_nmembers(type); ++i) {
    const TypeId member(H5Tget_member_type(type, static_cast<unsigned>(i)));
    bytes += StoredSize(member.get(), address_bytes) - H5Tget_size(member.get());
  }
  return bytes;
}

/// Of one value in the file: in memory, values of any length are pointers.
std::uint64_t StoredSize(hid_t type, std::size_t address_bytes) {
  const std::uint64_t size = H5Tget_size(type);
  const auto heap_place = 8 + address_bytes;
  switch (H5Tget_class(type)) {
    case H5T_VLEN: return heap_place;
    case H5T_STRING: return H5Tis_variable_str(type) > 0 ? heap_place : size;
    case H5T_REFERENCE: return size - sizeof(haddr_t) + address_bytes;
    case H5T_COMPOUND: return StoredSizeOfCompound(type, address_bytes);
    case H5T_ARRAY: {
      const TypeId element(H5Tget_super(type));
      return size / H5Tget_size(element.get()) * StoredSize(element.get(), address_bytes);
    }
    default: return size;
  }
}

class LayoutReader {
 public:
  explicit LayoutReader(const OpenDataset& dataset)
      : dataset_(dataset),
        creation_(H5Dget_create_plist(dataset.id.get())),
        shape_(ShapeOf(dataset.id.get())),
        file_bytes_(FileBytes(dataset.file)),
        facts_(FactsOf(dataset.id.get())) {}

  Hdf5Layout Read() {
    layout_.bytes = H5Dget_storage_size(dataset_.id.get());
    const auto kind = H5Pget_layout(creation_.get());
    if (kind == H5D_CONTIGUOUS) ReadContiguous();
    if (kind == H5D_CHUNKED) ReadChunked();
    return std::move(layout_);
  }

 private:
  void ReadContiguous() {
    const auto offset = H5Dget_offset(dataset_.id.get());
    if (offset == HADDR_UNDEF) return;  // nothing stored yet
    layout_.storage = Hdf5Storage::kContiguous;
    layout_.offset = PlaceOf(offset, layout_.bytes);
    RequireAllValues();
  }

  /// The pieces of a contiguous dataset are found by counting, so all must be there.
  void RequireAllValues() const {
    const TypeId type(H5Dget_type(dataset_.id.get()));
    auto bytes = StoredSize(type.get(), facts_.address_bytes);
    bool fits = true;
    for (const auto extent : shape_) fits = fits && !__builtin_mul_overflow(bytes, extent, &bytes);
    if (!fits || bytes != layout_.bytes) {
      ThrowDamaged(dataset_, fmt::format("has a shape that does not fit its {} stored bytes", layout_.bytes));
    }
  }

  void ReadChunked() {
    layout_.storage = Hdf5Storage::kChunked;
    std::vector<hsize_t> extents(shape_.size());
    if (H5Pget_chunk(creation_.get(), static_cast<int>(extents.size()), extents.data()) !=
        static_cast<int>(extents.size())) {
      ThrowHdf5(dataset_.file, fmt::format("cannot read the chunk shape of the dataset '{}'", dataset_.name));
    }
    layout_.chunk_shape.assign(extents.begin(), extents.end());
    if (std::ranges::count(layout_.chunk_shape, 0) != 0) ThrowDamaged(dataset_, "has chunks without values");
    layout_.filters = FiltersOf(dataset_);
    ReadChunkTable();
  }

  /// How many chunks it takes to cover the shape; nothing when that is too many to count.
  std::optional<std::uint64_t> PlacesOfChunks() const {
    std::uint64_t product = 1;
    for (std::size_t i = 0; i < shape_.size(); ++i) {
      const auto chunk = layout_.chunk_shape[i];
      const auto along = shape_[i] / chunk + (shape_[i] % chunk == 0 ? 0 : 1);
      if (__builtin_mul_overflow(product, along, &product)) return {};
    }
    return product;
  }

  /// By number a look-up walks over all chunks before it (HDF5 1.10), by place it is quick, but tells no offset.
  void ReadChunkTable() {
    const SpaceId space(H5Dget_space(dataset_.id.get()));
    hsize_t stored = 0;
    if (H5Dget_num_chunks(dataset_.id.get(), space.get(), &stored) < 0) {
      ThrowHdf5(dataset_.file, fmt::format("cannot count the chunks of the dataset '{}'", dataset_.name));
    }
    if (stored == 0) return;
    if (layout_.filters.empty() && stored > file_bytes_)
      ThrowDamaged(dataset_, "has more chunks than its file has bytes");
    const auto places = PlacesOfChunks();
    const bool mostly_holes = !places || *places / 16 > stored;
    if (stored <= kMostLocatedChunks || mostly_holes) {
      LookUpEveryNumber(stored);
    } else {
      MeasureEveryPlace(*places);
    }
    std::ranges::sort(layout_.chunks, {}, &Hdf5Chunk::origin);
  }

  void MeasureEveryPlace(std::uint64_t places) {
    std::vector<hsize_t> origin(shape_.size(), 0);
    for (; places > 0; --places) {
      hsize_t bytes = 0;
      if (H5Dget_chunk_storage_size(dataset_.id.get(), origin.data(), &bytes) < 0) ThrowNoTable();
      if (bytes > file_bytes_) ThrowDamaged(dataset_, "has a chunk larger than its file");
      if (bytes > 0) layout_.chunks.push_back({{origin.begin(), origin.end()}, {}, bytes, 0});
      NextPlace(origin);
    }
  }

  /// The last dimension runs fastest.
  void NextPlace(std::vector<hsize_t>& origin) const {
    for (auto i = origin.size(); i-- > 0;) {
      origin[i] += layout_.chunk_shape[i];
      if (origin[i] < shape_[i]) return;
      origin[i] = 0;
    }
  }

  void LookUpEveryNumber(std::uint64_t stored) {
    const SpaceId space(H5Dget_space(dataset_.id.get()));
    std::vector<hsize_t> origin(shape_.size(), 0);
    for (std::uint64_t i = 0; i < stored; ++i) {
      unsigned mask = 0;
      haddr_t offset = HADDR_UNDEF;
      hsize_t bytes = 0;
      if (H5Dget_chunk_info(dataset_.id.get(), space.get(), i, origin.data(), &mask, &offset, &bytes) < 0) {
        ThrowNoTable();
      }
      AddChunk(origin, mask, offset, bytes);
    }
  }

  void AddChunk(const std::vector<hsize_t>& origin, unsigned mask, haddr_t offset, hsize_t bytes) {
    for (std::size_t i = 0; i < shape_.size(); ++i) {
      if (origin[i] >= shape_[i] || origin[i] % layout_.chunk_shape[i] != 0) {
        ThrowDamaged(dataset_,
                     fmt::format("has a chunk at [{}], which is no place of a chunk", fmt::join(origin, ", ")));
      }
    }
    layout_.chunks.push_back({{origin.begin(), origin.end()}, PlaceOf(offset, bytes), bytes, mask});
  }

  std::optional<std::uint64_t> PlaceOf(std::uint64_t offset, std::uint64_t bytes) const {
    if (facts_.user_block != 0) return {};  // the places that HDF5 tells do not count it
    if (offset > file_bytes_ || bytes > file_bytes_ - offset) {
      ThrowDamaged(dataset_, fmt::format("has {} bytes at byte {}: its file has only {}", bytes, offset, file_bytes_));
    }
    return offset;
  }

  [[noreturn]] void ThrowNoTable() const {
    ThrowHdf5(dataset_.file, fmt::format("cannot read where the chunks of the dataset '{}' are", dataset_.name));
  }

  const OpenDataset& dataset_;
  PropertyId creation_;
  std::vector<std::uint64_t> shape_;
  std::uint64_t file_bytes_;
  FileFacts facts_;
  Hdf5Layout layout_;
};

}  // namespace

Hdf5Layout LayoutOf(const OpenDataset& dataset) { return LayoutReader(dataset).Read(); }

unsigned ReadStoredChunk(const OpenDataset& dataset, std::span<const std::uint64_t> origin,
                         std::vector<std::byte>& out) {
  const std::vector<hsize_t> place(origin.begin(), origin.end());
  hsize_t bytes = 0;
  const bool fits = place.size() == ShapeOf(dataset.id.get()).size();
  if (!fits || H5Dget_chunk_storage_size(dataset.id.get(), place.data(), &bytes) < 0 || bytes == 0) {
    throw Error(ErrorKind::kEnvironment,
                fmt::format("'{}': the dataset '{}' has no stored chunk at [{}]", dataset.file.string(), dataset.name,
                            fmt::join(origin, ", ")),
                "the file is damaged: copy it again from its source");
  }
  if (bytes > FileBytes(dataset.file)) ThrowDamaged(dataset, "has a chunk larger than its file");
  out.resize(bytes);
  std::uint32_t skipped = 0;
  if (H5Dread_chunk(dataset.id.get(), H5P_DEFAULT, place.data(), &skipped, out.data()) < 0) {
    ThrowUnreadable(dataset, fmt::format("cannot read the chunk at [{}]", fmt::join(origin, ", ")));
  }
  return skipped;
}

}  // namespace slipway::staging
