// What both sides of the module's border need to know of numbers.
#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "staging/formats/hdf5.h"

namespace slipway::staging {

std::size_t SizeOf(NumberType type) {
  switch (type) {
    case NumberType::kInt8:
    case NumberType::kUint8: return 1;
    case NumberType::kInt16:
    case NumberType::kUint16: return 2;
    case NumberType::kInt32:
    case NumberType::kUint32:
    case NumberType::kFloat32: return 4;
    case NumberType::kInt64:
    case NumberType::kUint64:
    case NumberType::kFloat64: return 8;
  }
  return 1;
}

std::string_view NumberTypeName(NumberType type) {
  switch (type) {
    case NumberType::kInt8: return "int8";
    case NumberType::kUint8: return "uint8";
    case NumberType::kInt16: return "int16";
    case NumberType::kUint16: return "uint16";
    case NumberType::kInt32: return "int32";
    case NumberType::kUint32: return "uint32";
    case NumberType::kInt64: return "int64";
    case NumberType::kUint64: return "uint64";
    case NumberType::kFloat32: return "float32";
    case NumberType::kFloat64: return "float64";
  }
  return "uint8";
}

std::string_view Hdf5StorageName(Hdf5Storage storage) {
  switch (storage) {
    case Hdf5Storage::kContiguous: return "contiguous";
    case Hdf5Storage::kChunked: return "chunked";
    case Hdf5Storage::kOther: return "other";
  }
  return "other";
}

std::optional<std::uint64_t> CommonRows(std::span<const Hdf5Dataset> datasets) {
  const auto differs = [&](const Hdf5Dataset& dataset) { return dataset.shape[0] != datasets[0].shape[0]; };
  if (datasets.empty() || std::ranges::any_of(datasets, differs)) return {};
  return datasets[0].shape[0];
}

std::uint64_t ValuesPerRow(const Hdf5Dataset& dataset) {
  std::uint64_t product = 1;
  for (std::size_t i = 1; i < dataset.shape.size(); ++i) {
    if (__builtin_mul_overflow(product, dataset.shape[i], &product)) {
      throw Error(ErrorKind::kEnvironment, fmt::format("the dataset '{}' has rows too large to count", dataset.name));
    }
  }
  return product;
}

}  // namespace slipway::staging
