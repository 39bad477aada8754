/// Small NumPy, zip and image files as text.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace slipway::staging {

/// A .npy file, e.g. NpyText("<i2", "(2, 3)", twelve bytes).
std::string NpyText(std::string_view descr, std::string_view shape, std::string_view values,
                    std::string_view fortran_order = "False");
/// A zip file with these members.
std::string ZipText(const std::vector<std::pair<std::string, std::string>>& members, bool deflated);
/// As much of an image as its size needs.
std::string PngText(unsigned height, unsigned width);
std::string JpegText(unsigned height, unsigned width);

}  // namespace slipway::staging
