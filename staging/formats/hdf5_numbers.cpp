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

WordTable<NumberType> WordsOf(NumberType) {
  static constexpr Word<NumberType> kWords[] = {{NumberType::kInt8, "int8"},       {NumberType::kUint8, "uint8"},
                                                {NumberType::kInt16, "int16"},     {NumberType::kUint16, "uint16"},
                                                {NumberType::kInt32, "int32"},     {NumberType::kUint32, "uint32"},
                                                {NumberType::kInt64, "int64"},     {NumberType::kUint64, "uint64"},
                                                {NumberType::kFloat32, "float32"}, {NumberType::kFloat64, "float64"}};
  return kWords;
}

WordTable<Hdf5Storage> WordsOf(Hdf5Storage) {
  static constexpr Word<Hdf5Storage> kWords[] = {
      {Hdf5Storage::kContiguous, "contiguous"}, {Hdf5Storage::kChunked, "chunked"}, {Hdf5Storage::kOther, "other"}};
  return kWords;
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
      throw Error(ErrorKind::kEnvironment, fmt::format("the dataset '{}' has rows too large to count", dataset.name),
                  "the file is damaged: copy it again from its source");
    }
  }
  return product;
}

}  // namespace slipway::staging
