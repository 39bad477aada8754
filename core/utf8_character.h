/// UTF-8, character by character.
#pragma once

#include <cstddef>
#include <string_view>

namespace slipway {

/// The length of the character that `text`, which is not empty, begins with. 0 when it is broken: truncated, overlong,
/// a surrogate or beyond U+10FFFF.
std::size_t Utf8CharacterLength(std::string_view text);

/// True when `text` is UTF-8, control characters included.
bool IsUtf8(std::string_view text);

/// The beginning of `text` that fits into `most` bytes. A character of UTF-8 is never cut.
std::string_view WholeCharacters(std::string_view text, std::size_t most);

}  // namespace slipway
