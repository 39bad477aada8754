/// How many columns text takes on a terminal.
#pragma once

#include <string>
#include <string_view>

namespace slipway {

/// The columns that a character takes: 0, 1 or 2, as wcwidth(3) says for UTF-8. 0 for what is no character.
int WidthOf(char32_t character);
/// The columns that `text` takes once it is harmless: one line, without control characters.
int WidthOf(std::string_view text);
/// Any bytes as characters that a terminal can show: control characters, and invisible ones that change the direction
/// of text, are left out. Tabs and ends of lines become blanks, what is no character U+FFFD.
std::u32string Harmless(std::string_view text);

/// The beginning of harmless `text` that fits into `columns`; it ends with `…` where something is missing.
std::u32string CutToColumns(std::u32string text, int columns);
/// The same of any bytes, made harmless.
std::string CutToColumns(std::string_view text, int columns);

void AppendUtf8(std::string& text, char32_t character);

}  // namespace slipway
