/// Small NumPy, zip and image files as text.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/numpy_text.h"

namespace slipway::staging {

using test::NpyText;
/// A zip file with these members.
std::string ZipText(const std::vector<std::pair<std::string, std::string>>& members, bool deflated);
/// As much of an image as its size needs.
std::string PngText(unsigned height, unsigned width);
std::string JpegText(unsigned height, unsigned width);

}  // namespace slipway::staging
