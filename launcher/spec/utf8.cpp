#include "launcher/spec/utf8.h"

#include <fmt/format.h>

#include <cstdint>

namespace slipway::launcher {
namespace {

bool IsForbidden(unsigned char byte) {
  return (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') || byte == 0x7f;
}

struct Lead {
  int following;
  std::uint32_t bits;
  std::uint32_t smallest;
};

std::optional<Lead> ReadLead(unsigned char byte) {
  if (byte >= 0xc2 && byte <= 0xdf) return Lead{1, byte & 0x1fu, 0x80};
  if (byte >= 0xe0 && byte <= 0xef) return Lead{2, byte & 0x0fu, 0x800};
  if (byte >= 0xf0 && byte <= 0xf4) return Lead{3, byte & 0x07u, 0x10000};
  return std::nullopt;
}

/// Length of the character that `text` starts with, or 0 when it is broken.
std::size_t CharacterLength(std::string_view text) {
  if (static_cast<unsigned char>(text[0]) < 0x80) return 1;
  const std::optional<Lead> lead = ReadLead(static_cast<unsigned char>(text[0]));
  if (!lead || text.size() <= static_cast<std::size_t>(lead->following)) return 0;
  std::uint32_t code = lead->bits;
  for (int i = 1; i <= lead->following; ++i) {
    const auto byte = static_cast<unsigned char>(text[static_cast<std::size_t>(i)]);
    if ((byte & 0xc0) != 0x80) return 0;
    code = (code << 6) | (byte & 0x3fu);
  }
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < lead->smallest || code > 0x10ffff || surrogate) return 0;
  return static_cast<std::size_t>(lead->following) + 1;
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
    const std::size_t length = CharacterLength(text.substr(at));
    if (length == 0) return TextFault{at, fmt::format("the byte 0x{:02x} is not UTF-8 here", byte)};
    if (IsLateControl(text.substr(at))) return TextFault{at, "it holds a control character"};
    at += length;
  }
  return std::nullopt;
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = CharacterLength(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace slipway::launcher
