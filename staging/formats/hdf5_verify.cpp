// Reads every stored chunk of a dataset once, so that filters and checksums speak.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/error.h"
#include "staging/formats/hdf5_library.h"

namespace slipway::staging {
namespace {

using Extents = std::vector<hsize_t>;

constexpr std::uint64_t kBytesAtOnce = 1 << 20;

/// Whether values lead elsewhere in the file.
bool HasPointers(hid_t type) { return H5Tdetect_class(type, H5T_VLEN) > 0 || H5Tdetect_class(type, H5T_STRING) > 0; }

/// Values as they are in the file, without conversion, for any type.
class ValueBuffer {
 public:
  explicit ValueBuffer(const OpenDataset& dataset)
      : dataset_(dataset),
        type_(H5Dget_type(dataset.id.get())),
        space_(H5Dget_space(dataset.id.get())),
        has_pointers_(HasPointers(type_.get())) {}

  bool has_pointers() const { return has_pointers_; }

  /// Errors: say `what` cannot be read.
  void Read(const Extents& origin, const Extents& count, std::string_view what) {
    const SpaceId memory(H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr));
    bytes_.resize(BytesOf(count));
    const bool selected =
        H5Sselect_hyperslab(space_.get(), H5S_SELECT_SET, origin.data(), nullptr, count.data(), nullptr) >= 0;
    if (!selected ||
        H5Dread(dataset_.id.get(), type_.get(), memory.get(), space_.get(), H5P_DEFAULT, bytes_.data()) < 0) {
      ThrowUnreadable(dataset_, fmt::format("cannot read the {} at [{}]", what, fmt::join(origin, ", ")));
    }
    if (has_pointers_) H5Dvlen_reclaim(type_.get(), memory.get(), H5P_DEFAULT, bytes_.data());
  }

  std::size_t BytesOf(const Extents& count) const {
    std::size_t bytes = H5Tget_size(type_.get());
    for (const auto extent : count) {
      if (!__builtin_mul_overflow(bytes, extent, &bytes)) continue;
      throw Error(
          ErrorKind::kEnvironment,
          fmt::format("'{}': the dataset '{}' has chunks too large to count", dataset_.file.string(), dataset_.name),
          "the file is damaged: copy it again from its source");
    }
    return bytes;
  }

 private:
  const OpenDataset& dataset_;
  TypeId type_;
  SpaceId space_;
  bool has_pointers_;
  std::vector<std::byte> bytes_;
};

bool HasSums(const Hdf5Layout& layout) {
  return std::ranges::any_of(layout.filters, [](const Hdf5Filter& filter) {
    return filter.id == kFletcher32Filter || filter.id == kDeflateFilter;
  });
}

void ReadChunks(const Hdf5Layout& layout, const std::vector<std::uint64_t>& shape, ValueBuffer& buffer,
                const std::function<void()>& on_step) {
  for (const auto& chunk : layout.chunks) {
    on_step();
    Extents count(shape.size());
    for (std::size_t i = 0; i < shape.size(); ++i) {
      count[i] = std::min(layout.chunk_shape[i], shape[i] - chunk.origin[i]);
    }
    buffer.Read({chunk.origin.begin(), chunk.origin.end()}, count, "chunk");
  }
}

/// Values in one piece that lead elsewhere.
void ReadRowsInTurn(const std::vector<std::uint64_t>& shape, ValueBuffer& buffer,
                    const std::function<void()>& on_step) {
  if (std::ranges::count(shape, 0) != 0) return;
  Extents origin(shape.size(), 0), count(shape.begin(), shape.end());
  count[0] = 1;
  const auto rows = std::max<std::uint64_t>(1, kBytesAtOnce / std::max<std::size_t>(1, buffer.BytesOf(count)));
  for (; origin[0] < shape[0]; origin[0] += count[0]) {
    on_step();
    count[0] = std::min<std::uint64_t>(rows, shape[0] - origin[0]);
    buffer.Read(origin, count, "rows");
  }
}

}  // namespace

void VerifyDataset(const OpenDataset& dataset, const std::function<void()>& on_step, Hdf5Verification& result) {
  const auto shape = ShapeOf(dataset.id.get());
  if (shape.empty()) {
    result.unsummed_bytes += H5Dget_storage_size(dataset.id.get());
    return;
  }
  if (auto unread = NeedsMissingFilter(dataset)) {
    result.unread.push_back(*std::move(unread));
    return;
  }
  const auto layout = LayoutOf(dataset);
  ValueBuffer buffer(dataset);
  if (layout.storage == Hdf5Storage::kChunked) {
    ReadChunks(layout, shape, buffer, on_step);
  } else if (buffer.has_pointers()) {
    ReadRowsInTurn(shape, buffer, on_step);
  }
  (HasSums(layout) ? result.summed_bytes : result.unsummed_bytes) += layout.bytes;
}

}  // namespace slipway::staging
