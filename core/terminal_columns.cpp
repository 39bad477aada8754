#include "core/terminal_columns.h"

#include <locale.h>
#include <wchar.h>

#include <algorithm>

#include "core/terminal_text.h"
#include "core/utf8_character.h"

namespace slipway {
namespace {

constexpr char32_t kEllipsis = U'…';
constexpr char32_t kNoCharacter = 0xfffd;

/// wcwidth(3) for UTF-8, whatever the locale of the process is; negative for what is no character.
class Utf8Widths {
 public:
  Utf8Widths() : locale_(::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)) {}
  Utf8Widths(const Utf8Widths&) = delete;
  Utf8Widths& operator=(const Utf8Widths&) = delete;
  ~Utf8Widths() {
    if (locale_ != nullptr) ::freelocale(locale_);
  }

  int Of(char32_t character) const {
    if (locale_ == nullptr) return 1;
    const auto before = ::uselocale(locale_);
    const int width = ::wcwidth(static_cast<wchar_t>(character));
    ::uselocale(before);
    return std::min(width, 2);
  }

 private:
  locale_t locale_;
};

int RawWidthOf(char32_t character) {
  if (character >= 0x20 && character < 0x7f) return 1;
  static const Utf8Widths widths;
  return widths.Of(character);
}

/// Marks of direction, joiners and the like: a terminal shows nothing for them, or moves what stands around.
bool IsInvisible(char32_t c) {
  return (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff ||
         c == 0xad || c == 0x61c || (c >= 0xe0000 && c <= 0xe0fff);
}

char32_t Decode(std::string_view character) {
  if (character.size() == 1) return static_cast<unsigned char>(character[0]);
  char32_t code = static_cast<unsigned char>(character[0]) & (0xffu >> (character.size() + 1));
  for (const char byte : character.substr(1)) code = code << 6 | (static_cast<unsigned char>(byte) & 0x3fu);
  return code;
}

int ColumnsOf(std::u32string_view text) {
  int width = 0;
  for (const char32_t c : text) width += WidthOf(c);
  return width;
}

}  // namespace

int WidthOf(char32_t character) { return std::max(0, RawWidthOf(character)); }

int WidthOf(std::string_view text) {
  const bool is_ascii = std::ranges::all_of(text, [](char c) { return c >= 0x20 && c < 0x7f; });
  return is_ascii ? static_cast<int>(text.size()) : ColumnsOf(Harmless(text));  // large tables ask for each cell
}

std::u32string Harmless(std::string_view text) {
  const auto clean = WithoutControls(text);
  std::u32string characters;
  characters.reserve(clean.size());
  for (std::string_view rest = clean; !rest.empty();) {
    const auto length = std::max<std::size_t>(1, Utf8CharacterLength(rest));
    const char32_t c = Decode(rest.substr(0, length));
    if (c == U'\n' || c == U'\t') {
      characters += U' ';
    } else if (!IsInvisible(c)) {
      characters += RawWidthOf(c) < 0 ? kNoCharacter : c;
    }
    rest.remove_prefix(length);
  }
  return characters;
}

void AppendUtf8(std::string& text, char32_t c) {
  const auto byte = [&](char32_t value) { text += static_cast<char>(value); };
  if (c >= 0x10000) byte(0xf0 | c >> 18), byte(0x80 | (c >> 12 & 0x3f));
  if (c >= 0x800 && c < 0x10000) byte(0xe0 | c >> 12);
  if (c >= 0x80 && c < 0x800) byte(0xc0 | c >> 6);
  if (c >= 0x800) byte(0x80 | (c >> 6 & 0x3f));
  byte(c < 0x80 ? c : 0x80 | (c & 0x3f));
}

std::u32string CutToColumns(std::u32string text, int columns) {
  if (ColumnsOf(text) <= columns) return text;
  int used = 1;
  std::size_t kept = 0;
  while (kept < text.size() && used + WidthOf(text[kept]) <= columns) used += WidthOf(text[kept++]);
  text.resize(kept);
  return columns > 0 ? text + kEllipsis : text;
}

std::string CutToColumns(std::string_view text, int columns) {
  std::string cut;
  for (const char32_t character : CutToColumns(Harmless(text), columns)) AppendUtf8(cut, character);
  return cut;
}

}  // namespace slipway
