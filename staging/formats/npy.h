/// Arrays that NumPy saved: .npy files (core/numpy_header.h) and the members of .npz files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/numpy_header.h"
#include "staging/formats/growing_memory.h"
#include "staging/formats/hdf5.h"
#include "staging/formats/mapped_file.h"

namespace slipway::staging {

/// Whether a zip file's directory ends in its last bytes: 64 KiB, or all of the file.
bool HasZipEnd(std::span<const std::byte> tail);

/// The type of the values; bool is read as uint8.
NumberType NumberTypeOf(const NumpyHeader& header);
/// Turns the byte order of numbers of `size` bytes.
void SwapBytes(std::span<std::byte> values, std::size_t size);

/// One array; its values in the machine's byte order.
struct NpyArray {
  std::string name;                      ///< of the file or member, without ".npy"
  NumberType type = NumberType::kUint8;  ///< bool is read as uint8
  char kind = 'u';                       ///< of NumpyHeader: 'b' tells truth values
  std::vector<std::uint64_t> shape;
  std::span<const std::byte> values;
  bool mapped = false;  ///< `values` lie in the map of the file, not in memory of their own
};

/// Open .npy or .npz files. Their arrays point into it.
class NpyFile {
 public:
  /// Cost:   .npy and stored members are mapped; deflated and byte-swapped ones are held in memory.
  /// Errors: those of ParseNumpyHeader; Error(kEnvironment) for a damaged zip file. Both name file and member.
  explicit NpyFile(const std::filesystem::path& path);

  const std::vector<NpyArray>& arrays() const { return arrays_; }

 private:
  void Add(std::string name, std::span<const std::byte> bytes, const std::string& full_name);
  bool IsMapped(std::span<const std::byte> bytes) const;

  MappedFile file_;
  std::vector<GrowingMemory> held_;
  std::vector<NpyArray> arrays_;
};

}  // namespace slipway::staging
