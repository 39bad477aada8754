/// Checks that a text is UTF-8 without control characters.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace slipway::launcher {

struct TextFault {
  std::size_t offset = 0;
  std::string reason;  ///< "byte 0x00", "invalid UTF-8"
};

/// The first byte that a text file cannot hold. Control characters (up to U+009F) other than tab and line ends are such
/// bytes, and broken UTF-8 (truncated, overlong, surrogates, beyond U+10FFFF).
std::optional<TextFault> FindTextFault(std::string_view text);

}  // namespace slipway::launcher
