/// UTF-8, character by character.
#pragma once

#include <cstddef>
#include <string_view>

namespace slipway {

/// The length of the character that `text`, which is not empty, begins with. 0 when it is broken: truncated, overlong,
/// a surrogate or beyond U+10FFFF.
std::size_t Utf8CharacterLength(std::string_view text);

}  // namespace slipway
