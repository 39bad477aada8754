/// HDF5 files through a module that is loaded when the first one is opened, so that no program carries libhdf5.
///
/// Only plain datasets are seen: integers and floating point numbers of 8 to 64 bits with at least one dimension,
/// stored in the file itself. The first dimension counts rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace slipway::staging {

enum class NumberType { kInt8, kUint8, kInt16, kUint16, kInt32, kUint32, kInt64, kUint64, kFloat32, kFloat64 };

std::size_t SizeOf(NumberType type);
/// "uint8", "float32", ...
std::string_view NumberTypeName(NumberType type);

struct Hdf5Dataset {
  std::string name;  ///< the path without the leading slash: "image", "group/label"
  NumberType type = NumberType::kUint8;
  std::vector<std::uint64_t> shape;  ///< never empty
};

/// The product of shape[1:]. Errors: Error(kEnvironment) when it does not fit 64 bits.
std::uint64_t ValuesPerRow(const Hdf5Dataset& dataset);

/// An open file. Calls may come from several threads; they wait for each other.
/// Errors: Error(kEnvironment) naming the file, the dataset and HDF5's own reason.
class Hdf5File {
 public:
  virtual ~Hdf5File() = default;

  /// Sorted by name.
  virtual const std::vector<Hdf5Dataset>& Datasets() const = 0;

  /// Reads rows [begin, end) into `out`, converted to `as` (the file's byte order and type do not matter).
  /// `out` has (end - begin) * ValuesPerRow * SizeOf(as) bytes.
  virtual void ReadRows(std::string_view dataset, std::uint64_t begin, std::uint64_t end, NumberType as,
                        std::span<std::byte> out) = 0;

  /// Creates a contiguous dataset and writes all of it. `values` has the machine's byte order.
  virtual void WriteDataset(const Hdf5Dataset& dataset, std::span<const std::byte> values) = 0;

  /// Closes a file that was written and syncs it to the disk; the object cannot be used afterwards.
  virtual void Close() = 0;
};

/// Opens for reading. Errors: Error(kEnvironment), also when the module is not installed.
std::unique_ptr<Hdf5File> OpenHdf5(const std::filesystem::path& path);
/// Creates or replaces; the newest file format (its metadata carries checksums).
std::unique_ptr<Hdf5File> CreateHdf5(const std::filesystem::path& path);

}  // namespace slipway::staging
