#include "core/terminal_text.h"

#include <algorithm>

#include "core/utf8_character.h"

namespace slipway {
namespace {

constexpr char kEscape = '\x1b';
constexpr char kBell = '\x07';
constexpr std::string_view kReplacement = "\xef\xbf\xbd";

bool IsControl(char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == '\x7f'; }

/// The second byte of U+0080 to U+009F, the controls beyond ASCII.
bool IsSecondOfControl(char c) { return static_cast<unsigned char>(c) >= 0x80 && static_cast<unsigned char>(c) < 0xa0; }

/// One sequence that begins with ESC [ : parameters, then a letter.
std::size_t LengthOfCommand(std::string_view text) {
  std::size_t length = 2;
  while (length < text.size() && text[length] >= 0x20 && text[length] < 0x40) ++length;
  return length < text.size() && text[length] >= 0x40 && text[length] < 0x7f ? length + 1 : length;
}

/// One that carries a text of its own, as a title: until BEL or ESC \, but not beyond its line.
std::size_t LengthOfString(std::string_view text) {
  for (std::size_t i = 2; i < text.size(); ++i) {
    if (text[i] == '\n') return i;
    if (text[i] == kBell) return i + 1;
    if (text[i] == kEscape) return i + (text.substr(i).starts_with("\x1b\\") ? 2 : 0);
  }
  return text.size();
}

/// `text` begins with ESC.
std::size_t LengthOfEscape(std::string_view text) {
  if (text.size() == 1 || IsControl(text[1]) || text[1] == '\n') return 1;
  if (text[1] == '[') return LengthOfCommand(text);
  if (std::string_view("]PX^_").find(text[1]) != std::string_view::npos) return LengthOfString(text);
  std::size_t length = 1;  // intermediate bytes, then the last one: ESC ( B
  while (length < text.size() && text[length] >= 0x20 && text[length] < 0x30) ++length;
  return length < text.size() && static_cast<unsigned char>(text[length]) < 0x80 ? length + 1 : length;
}

}  // namespace

std::string WithoutControls(std::string_view text) {
  std::string shown;
  bool is_over_line = false;  // after a carriage return: what comes next stands where the line stands
  while (!text.empty()) {
    const char c = text.front();
    const auto character = Utf8CharacterLength(text);
    std::size_t length = std::max<std::size_t>(character, 1);
    if (c == kEscape) {
      length = LengthOfEscape(text);
    } else if (c == '\xc2' && character == 2 && IsSecondOfControl(text[1])) {
      length = 2;
    } else if (c == '\r') {
      is_over_line = true;
    } else if (!IsControl(c)) {
      if (is_over_line && c != '\n') shown.erase(shown.rfind('\n') + 1);  // where there is none: npos + 1 is 0
      is_over_line = false;
      shown += character == 0 ? kReplacement : text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return shown;
}

}  // namespace slipway
