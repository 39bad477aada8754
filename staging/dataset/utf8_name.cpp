#include "staging/dataset/utf8_name.h"

#include <fmt/format.h>

#include "core/utf8_character.h"

namespace slipway::staging {
std::string Utf8Name(std::string_view bytes) {
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

}  // namespace slipway::staging
