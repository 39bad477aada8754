/// Arrays as NumPy saves them, as text.
#pragma once

#include <string>
#include <string_view>

namespace slipway::test {

/// A .npy file, e.g. NpyText("<i2", "(2, 3)", twelve bytes).
inline std::string NpyText(std::string_view descr, std::string_view shape, std::string_view values,
                           std::string_view fortran_order = "False") {
  auto dict = "{'descr': '" + std::string(descr) + "', 'fortran_order': " + std::string(fortran_order) +
              ", 'shape': " + std::string(shape) + ", }";
  dict.resize(117, ' ');
  dict += '\n';
  return std::string("\x93NUMPY\x01\0\x76\0", 10) + dict + std::string(values);
}

}  // namespace slipway::test
