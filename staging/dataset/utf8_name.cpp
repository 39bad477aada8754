#include "staging/dataset/utf8_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/utf8_character.h"

namespace slipway::staging {
namespace {

bool IsAscii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

}  // namespace

std::string Utf8Name(std::string_view bytes) {
  if (IsAscii(bytes)) return std::string(bytes);
  std::string text;
  while (!bytes.empty()) {
    const auto length = Utf8CharacterLength(bytes);
    if (length == 0) {
      text += fmt::format("%{:02X}", static_cast<unsigned char>(bytes[0]));
    } else {
      text += bytes.substr(0, length);
    }
    bytes.remove_prefix(length == 0 ? 1 : length);
  }
  return text;
}

void MakeUtf8Name(std::string& name) {
  if (!IsAscii(name)) name = Utf8Name(name);
}

/// Most names need no more than the quotes.
void AppendQuoted(std::string& text, std::string_view name) {
  const auto is_plain = [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; };
  if (!std::ranges::all_of(name, is_plain)) {
    text += nlohmann::json(name).dump();
    return;
  }
  text += '"';
  text += name;
  text += '"';
}

}  // namespace slipway::staging
