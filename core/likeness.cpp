#include "core/likeness.h"

#include <algorithm>
#include <cctype>

namespace slipway {
namespace {

constexpr std::size_t kShortestAddress = 6;  // hexadecimal digits

bool IsDigit(char letter) { return std::isdigit(static_cast<unsigned char>(letter)) != 0; }

/// What ends a word: a path in quotes or before a colon is a word of its own.
bool EndsWord(char letter) {
  return std::isspace(static_cast<unsigned char>(letter)) != 0 ||
         std::string_view("'\"`()[]{}<>,;:=").find(letter) != std::string_view::npos;
}

bool IsPath(std::string_view word) {
  const bool begins =
      word.starts_with('/') || word.starts_with("./") || word.starts_with("../") || word.starts_with("~/");
  return (begins && word.size() > 1) || std::ranges::count(word, '/') > 1;
}

/// "0x7f3a5c", "deadbeef01".
bool IsAddress(std::string_view word) {
  if (word.starts_with("0x")) return true;
  const auto is_hex = [](char letter) { return std::isxdigit(static_cast<unsigned char>(letter)) != 0; };
  return word.size() >= kShortestAddress && std::ranges::all_of(word, is_hex) && std::ranges::any_of(word, IsDigit);
}

/// Digits that only a point parts are one number.
std::string WithoutNumbers(std::string_view word) {
  std::string kept;
  for (std::size_t i = 0; i < word.size(); ++i) {
    const bool in_number =
        IsDigit(word[i]) || (word[i] == '.' && i + 1 < word.size() && IsDigit(word[i + 1]) && kept.ends_with('N'));
    if (!in_number) {
      kept += word[i];
    } else if (!kept.ends_with('N')) {
      kept += 'N';
    }
  }
  return kept;
}

std::string Reduced(std::string_view word) {
  if (IsPath(word)) return "PATH";
  return IsAddress(word) ? "N" : WithoutNumbers(word);
}

}  // namespace

std::string WithoutPathsAndNumbers(std::string_view text) {
  std::string kept;
  while (!text.empty()) {
    const auto end = std::ranges::find_if(text, EndsWord) - text.begin();
    kept += Reduced(text.substr(0, static_cast<std::size_t>(end)));
    text.remove_prefix(static_cast<std::size_t>(end));
    if (text.empty()) break;
    kept += text.front();
    text.remove_prefix(1);
  }
  return kept;
}

}  // namespace slipway
