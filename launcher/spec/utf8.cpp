#include "launcher/spec/utf8.h"

#include <fmt/format.h>

#include "core/utf8_character.h"

namespace slipway::launcher {
namespace {

bool IsForbidden(unsigned char byte) {
  return (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') || byte == 0x7f;
}

/// U+0080 to U+009F except the line end U+0085: some terminals obey them.
bool IsLateControl(std::string_view text) {
  const auto second = static_cast<unsigned char>(text.size() > 1 ? text[1] : 0);
  return text.starts_with('\xc2') && second >= 0x80 && second < 0xa0 && second != 0x85;
}

}  // namespace

std::optional<TextFault> FindTextFault(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (IsForbidden(byte)) return TextFault{at, fmt::format("it holds the byte 0x{:02x}", byte)};
    const std::size_t length = Utf8CharacterLength(text.substr(at));
    if (length == 0) return TextFault{at, fmt::format("the byte 0x{:02x} is not UTF-8 here", byte)};
    if (IsLateControl(text.substr(at))) return TextFault{at, "it holds a control character"};
    at += length;
  }
  return std::nullopt;
}

}  // namespace slipway::launcher
