/// Arrays that NumPy saved: .npy files and the members of .npz files.
///
/// Form: "\x93NUMPY", version, length of the header, the header (a Python dict of descr, fortran_order and shape), the
/// values. Source: numpy.lib.format, versions 1 to 3.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "staging/formats/growing_memory.h"
#include "staging/formats/hdf5.h"
#include "staging/formats/mapped_file.h"

namespace slipway::staging {

struct NpyHeader {
  NumberType type = NumberType::kUint8;  ///< bool is read as uint8
  bool swapped = false;                  ///< values have the other byte order
  std::vector<std::uint64_t> shape;      ///< C order; empty = one number
  std::size_t values_at = 0;             ///< byte offset of the first value
  std::uint64_t value_bytes = 0;         ///< product of the shape times the size of the type
};

/// Reads the header at the start of `bytes`. `name` is for messages.
/// Errors: Error(kEnvironment): not NumPy, torn, numbers that overflow, more or fewer values than the header announces,
///         a type that is no number of 8 to 64 bits, Fortran order.
NpyHeader ParseNpyHeader(std::span<const std::byte> bytes, std::string_view name);

/// One array; its values in the machine's byte order.
struct NpyArray {
  std::string name;  ///< of the file or member, without ".npy"
  NumberType type = NumberType::kUint8;
  std::vector<std::uint64_t> shape;
  std::span<const std::byte> values;
};

/// Open .npy or .npz files. Their arrays point into it.
class NpyFile {
 public:
  /// Cost:   .npy and stored members are mapped; deflated and byte-swapped ones are held in memory.
  /// Errors: those of ParseNpyHeader and OpenZip, naming file and member.
  explicit NpyFile(const std::filesystem::path& path);

  const std::vector<NpyArray>& arrays() const { return arrays_; }

 private:
  void Add(std::string name, std::span<const std::byte> bytes, const std::string& full_name);

  MappedFile file_;
  std::vector<GrowingMemory> held_;
  std::vector<NpyArray> arrays_;
};

}  // namespace slipway::staging
