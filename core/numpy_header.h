/// The header of an array that NumPy saved (.npy), checked against the bytes that follow it.
///
/// Form: "\x93NUMPY", version, length of the header, the header, the values. The header is a Python dict of descr,
///       fortran_order and shape. Source: numpy.lib.format, versions 1 to 3. Nothing is unpickled: arrays of objects
///       are refused, like every type that is not a number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace slipway {

struct NumpyHeader {
  char kind = 'u';                   ///< 'b' truth values, 'i' signed, 'u' unsigned, 'f' floating point
  std::size_t size = 1;              ///< bytes of a value: 1 of 'b', 1 to 8 of 'i' and 'u', 4 or 8 of 'f'
  bool swapped = false;              ///< values have the other byte order
  std::vector<std::uint64_t> shape;  ///< C order; empty = one number
  std::size_t values_at = 0;         ///< byte offset of the first value
  std::uint64_t value_bytes = 0;     ///< product of the shape times `size`; they reach to the end of the bytes
};

/// Reads the header at the start of `bytes`, the content of the whole file. `name` is for messages.
/// Errors: Error(kEnvironment): not NumPy, torn, numbers that overflow, more or fewer values than the header announces.
///         Also for Fortran order, and a type that is neither bool, an integer of 8 to 64 bits nor a float of 32 or 64
///         bits.
NumpyHeader ParseNumpyHeader(std::span<const std::byte> bytes, std::string_view name);
/// The same from the first bytes of a file of `file_bytes`: they hold the whole header.
NumpyHeader ParseNumpyHeader(std::span<const std::byte> head, std::uint64_t file_bytes, std::string_view name);

/// The bytes before the values of an array in C order and in the machine's byte order; `kind` and `size` as above.
std::string RenderNumpyHeader(char kind, std::size_t size, std::span<const std::uint64_t> shape);

}  // namespace slipway
