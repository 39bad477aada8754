#include "staging/plan/utf8_name.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>

namespace slipway::staging {
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

/// The length of the valid sequence at the front, or 0.
std::size_t SequenceLength(std::string_view bytes) {
  const auto lead = LeadOf(static_cast<unsigned char>(bytes[0]));
  if (lead.length == 0 || lead.length > bytes.size()) return 0;
  std::uint32_t code = lead.bits;
  for (std::size_t i = 1; i < lead.length; ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    if ((byte & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte & 0x3fu);
  }
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  return code < lead.smallest || surrogate || code > 0x10ffff ? 0 : lead.length;
}

}  // namespace

std::string Utf8Name(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const auto length = SequenceLength(bytes);
    if (length == 0) {
      text += fmt::format("%{:02X}", static_cast<unsigned char>(bytes[0]));
    } else {
      text += bytes.substr(0, length);
    }
    bytes.remove_prefix(length == 0 ? 1 : length);
  }
  return text;
}

}  // namespace slipway::staging
