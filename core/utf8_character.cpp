#include "core/utf8_character.h"

#include <cstdint>

namespace slipway {
namespace {

struct Lead {
  std::size_t length;
  std::uint32_t smallest;  ///< code points below would be an overlong form
  std::uint32_t bits;
};

Lead LeadOf(unsigned char byte) {
  if (byte < 0x80) return {1, 0, byte};
  if (byte >= 0xc2 && byte < 0xe0) return {2, 0x80, byte & 0x1fu};
  if (byte >= 0xe0 && byte < 0xf0) return {3, 0x800, byte & 0x0fu};
  if (byte >= 0xf0 && byte < 0xf5) return {4, 0x10000, byte & 0x07u};
  return {0, 0, 0};
}

}  // namespace

std::size_t Utf8CharacterLength(std::string_view text) {
  const auto lead = LeadOf(static_cast<unsigned char>(text[0]));
  if (lead.length == 0 || lead.length > text.size()) return 0;
  std::uint32_t code = lead.bits;
  for (std::size_t i = 1; i < lead.length; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte & 0x3fu);
  }
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  return code < lead.smallest || surrogate || code > 0x10ffff ? 0 : lead.length;
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const auto length = Utf8CharacterLength(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string_view WholeCharacters(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80) --most;
  return text.substr(0, most);
}

}  // namespace slipway
