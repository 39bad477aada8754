// Reads every stored chunk of a dataset once, so that filters and checksums speak.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/error.h"
#include "staging/formats/hdf5_library.h"

namespace slipway::staging {
namespace {

/// Values as they are in the file, without conversion, for any type.
class ChunkBuffer {
 public:
  explicit ChunkBuffer(const OpenDataset& dataset)
      : dataset_(dataset),
        type_(H5Dget_type(dataset.id.get())),
        space_(H5Dget_space(dataset.id.get())),
        has_pointers_(H5Tdetect_class(type_.get(), H5T_VLEN) > 0 || H5Tdetect_class(type_.get(), H5T_STRING) > 0) {}

  void Read(const std::vector<hsize_t>& origin, const std::vector<hsize_t>& count) {
    const SpaceId memory(H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr));
    bytes_.resize(BytesOf(count));
    const bool selected =
        H5Sselect_hyperslab(space_.get(), H5S_SELECT_SET, origin.data(), nullptr, count.data(), nullptr) >= 0;
    if (!selected ||
        H5Dread(dataset_.id.get(), type_.get(), memory.get(), space_.get(), H5P_DEFAULT, bytes_.data()) < 0) {
      ThrowHdf5(dataset_.file, fmt::format("cannot read the chunk at [{}] of the dataset '{}'", fmt::join(origin, ", "),
                                           dataset_.name));
    }
    if (has_pointers_) H5Dvlen_reclaim(type_.get(), memory.get(), H5P_DEFAULT, bytes_.data());
  }

 private:
  std::size_t BytesOf(const std::vector<hsize_t>& count) const {
    std::size_t bytes = H5Tget_size(type_.get());
    for (const auto extent : count) {
      if (!__builtin_mul_overflow(bytes, extent, &bytes)) continue;
      throw Error(ErrorKind::kEnvironment, fmt::format("'{}': the dataset '{}' has chunks too large to count",
                                                       dataset_.file.string(), dataset_.name));
    }
    return bytes;
  }

  const OpenDataset& dataset_;
  TypeId type_;
  SpaceId space_;
  bool has_pointers_;
  std::vector<std::byte> bytes_;
};

}  // namespace

void VerifyDataset(const OpenDataset& dataset) {
  const auto shape = ShapeOf(dataset.id.get());
  if (shape.empty()) return;
  const auto layout = LayoutOf(dataset);
  ChunkBuffer buffer(dataset);
  for (const auto& chunk : layout.chunks) {
    std::vector<hsize_t> count(shape.size());
    for (std::size_t i = 0; i < shape.size(); ++i) {
      count[i] = std::min(layout.chunk_shape[i], shape[i] - chunk.origin[i]);
    }
    buffer.Read({chunk.origin.begin(), chunk.origin.end()}, count);
  }
}

}  // namespace slipway::staging
