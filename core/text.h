/// Lines of text, its ends and its case.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace slipway {

/// The first line, without its line break; the whole text when it has one line.
std::string_view FirstLine(std::string_view text);
/// The last line that is not blank, without what ends it; a carriage return ends a line, too. Empty without any.
std::string_view LastLine(std::string_view text);
/// All lines, without their line breaks.
std::vector<std::string> LinesOf(std::string_view text);

/// Without the white space of ASCII at both ends.
std::string_view Trim(std::string_view text);

/// Of ASCII: one below the space, as NUL, or DEL. It would end a line or control a terminal.
bool IsControlCharacter(char c);
/// With a space for each such character: for names from elsewhere in a line or a table.
std::string OnOneLine(std::string_view text);

/// "1 node", "4 nodes".
template <std::integral Number>
std::string Counted(Number count, std::string_view noun) {
  return std::to_string(count).append(" ").append(noun).append(count == 1 ? "" : "s");
}

/// What `text` gives for each item, with `separator` between.
template <class Items, class Text>
std::string JoinEach(const Items& items, std::string_view separator, const Text& text) {
  std::string all;
  std::string_view before;
  for (const auto& item : items) {
    all += before;
    all += std::invoke(text, item);
    before = separator;
  }
  return all;
}

inline std::string_view AsText(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Letters of ASCII in lower case, whatever the locale is.
std::string LowerCase(std::string_view text);

}  // namespace slipway
