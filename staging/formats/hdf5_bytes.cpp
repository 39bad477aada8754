// Reads strings, and sequences of bytes, as they are.
#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "staging/formats/hdf5_library.h"

namespace slipway::staging {
namespace {

/// Rows of a dataset with one dimension, in the form that its own type has in memory.
class RawRows {
 public:
  RawRows(const OpenDataset& dataset, std::uint64_t count)
      : stored_(H5Dget_type(dataset.id.get())),
        type_(H5Tget_native_type(stored_.get(), H5T_DIR_DEFAULT)),
        space_(SpaceFor({count})),
        size_(H5Tget_size(type_.get())),
        values_(count * size_) {}
  RawRows(const RawRows&) = delete;
  RawRows& operator=(const RawRows&) = delete;
  /// Gives back what HDF5 has allocated for values of any length.
  ~RawRows() { H5Dvlen_reclaim(type_.get(), space_.get(), H5P_DEFAULT, values_.data()); }

  void Read(const OpenDataset& dataset, std::uint64_t begin) {
    const auto selection = SelectRows(dataset, {count()}, begin);
    if (H5Dread(dataset.id.get(), type_.get(), space_.get(), selection.get(), H5P_DEFAULT, values_.data()) >= 0) return;
    ThrowUnreadable(dataset, fmt::format("cannot read rows {} to {}", begin, begin + count()));
  }

  std::size_t count() const { return values_.size() / size_; }
  std::string operator[](std::size_t row) const {
    const auto* place = values_.data() + row * size_;
    if (H5Tget_class(type_.get()) == H5T_VLEN) {
      const auto& sequence = *reinterpret_cast<const hvl_t*>(place);
      return {static_cast<const char*>(sequence.p), sequence.len};
    }
    if (H5Tis_variable_str(type_.get()) > 0) {
      const auto* text = *reinterpret_cast<const char* const*>(place);
      return text == nullptr ? std::string() : std::string(text);
    }
    return WithoutPadding({place, size_});
  }

 private:
  std::string WithoutPadding(std::string_view text) const {
    switch (H5Tget_strpad(stored_.get())) {
      case H5T_STR_NULLTERM: return std::string(text.substr(0, text.find('\0')));
      case H5T_STR_SPACEPAD: return std::string(text.substr(0, text.find_last_not_of(' ') + 1));
      default: return std::string(text.substr(0, text.find_last_not_of('\0') + 1));
    }
  }

  TypeId stored_;
  TypeId type_;
  SpaceId space_;
  std::size_t size_;
  std::vector<char> values_;
};

}  // namespace

std::vector<std::string> ReadRowsOfBytes(const OpenDataset& dataset, std::uint64_t begin, std::uint64_t end) {
  RawRows raw(dataset, end - begin);
  raw.Read(dataset, begin);
  std::vector<std::string> rows;
  for (std::size_t row = 0; row < raw.count(); ++row) rows.push_back(raw[row]);
  return rows;
}

}  // namespace slipway::staging
