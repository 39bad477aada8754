#include "core/text.h"

#include <algorithm>

#include "core/lines.h"

namespace slipway {

std::string_view FirstLine(std::string_view text) { return text.substr(0, text.find('\n')); }

std::string_view LastLine(std::string_view text) {
  text = text.substr(0, text.find_last_not_of(" \r\n") + 1);
  return text.substr(text.find_last_of("\r\n") + 1);
}

std::vector<std::string> LinesOf(std::string_view text) {
  std::vector<std::string> lines;
  LineWords words(text);
  while (!words.rest().empty()) lines.emplace_back(words.Word('\n'));
  return lines;
}

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\v\f";
  text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  return text.substr(0, text.find_last_not_of(kSpace) + 1);
}

bool IsControlCharacter(char c) { return (c >= '\0' && c < ' ') || c == '\x7f'; }

std::string OnOneLine(std::string_view text) {
  std::string line(text);
  std::ranges::replace_if(line, IsControlCharacter, ' ');
  return line;
}

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return lower;
}

}  // namespace slipway
