#include "staging/dataset/append_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace slipway::staging {

void AppendHex(std::string& text, std::uint32_t number) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (int shift = 28; shift >= 0; shift -= 4) text += kDigits[(number >> shift) & 0xf];
}

/// Most names need no more than the quotes.
void AppendQuoted(std::string& text, std::string_view value) {
  const auto is_plain = [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; };
  if (!std::ranges::all_of(value, is_plain)) {
    text += nlohmann::json(value).dump();
    return;
  }
  text += '"';
  text += value;
  text += '"';
}

}  // namespace slipway::staging
