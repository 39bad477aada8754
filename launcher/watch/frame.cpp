#include "launcher/watch/frame.h"

#include <locale.h>
#include <wchar.h>

#include <algorithm>
#include <bit>

#include "core/terminal_text.h"
#include "core/utf8_character.h"

namespace slipway::launcher::watch {
namespace {

constexpr char32_t kEllipsis = U'…';
constexpr char32_t kReplacement = 0xfffd;

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

int WidthOf(std::u32string_view text) {
  int width = 0;
  for (const char32_t c : text) width += watch::WidthOf(c);
  return width;
}

/// The beginning of `text` that fits into `width` columns, with an ellipsis where something is missing.
std::u32string Shortened(std::u32string text, int width) {
  if (WidthOf(std::u32string_view(text)) <= width) return text;
  int used = 1;
  std::size_t kept = 0;
  while (kept < text.size() && used + watch::WidthOf(text[kept]) <= width) used += watch::WidthOf(text[kept++]);
  text.resize(kept);
  return width > 0 ? text + kEllipsis : text;
}

char32_t AsciiOf(char32_t c) {
  if (c >= 0x2800 && c < 0x2900)
    return c == 0x2800 ? U' ' : std::popcount(static_cast<unsigned>(c - 0x2800)) > 2 ? U':' : U'.';
  if (c >= 0x2581 && c <= 0x2588) return U"_.-=+*#@"[c - 0x2581];
  if (c == U'─') return U'-';
  if (c == U'│') return U'|';
  if (c == kEllipsis) return U'~';
  if (c == U'░') return U'.';
  return c;
}

}  // namespace

int WidthOf(char32_t character) { return std::max(0, RawWidthOf(character)); }

int WidthOf(std::string_view text) { return WidthOf(std::u32string_view(Harmless(text))); }

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
      characters += RawWidthOf(c) < 0 ? kReplacement : c;
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

Frame::Frame(int rows, int columns)
    : rows_(std::max(rows, 0)),
      columns_(std::max(columns, 0)),
      cells_(static_cast<std::size_t>(rows_) * static_cast<std::size_t>(columns_)) {}

int Frame::Put(int row, int column, std::string_view text, Style style, int width) {
  const int room = std::min(width, columns_ - column);
  if (room <= 0) return column;
  int last = column;  // where a combining character belongs
  for (const char32_t c : Shortened(Harmless(text), room)) {
    const int columns = watch::WidthOf(c);
    if (columns == 0) {
      if (Holds(row, last) && column > last) {
        auto& glyph = cells_[IndexOf(row, last)].glyph;
        (glyph[1] == 0 ? glyph[1] : glyph[2]) = c;
      }
      continue;
    }
    if (!Holds(row, column) || !Holds(row, column + columns - 1)) return column;
    cells_[IndexOf(row, column)] = {{c, 0, 0}, style};
    if (columns == 2) cells_[IndexOf(row, column + 1)] = {{0, 0, 0}, style};
    last = column;
    column += columns;
  }
  return column;
}

void Frame::PutRight(int row, int end, std::string_view text, Style style) {
  Put(row, std::max(0, end - WidthOf(text)), text, style);
}

void Frame::Set(int row, int column, char32_t glyph, Style style) {
  if (Holds(row, column)) cells_[IndexOf(row, column)] = {{glyph, 0, 0}, style};
}

void Frame::Paint(int row, Style style) {
  for (int column = 0; column < columns_; ++column) {
    if (Holds(row, column)) cells_[IndexOf(row, column)].style = style;
  }
}

std::string Frame::Line(int row) const {
  std::string line;
  for (int column = 0; column < columns_; ++column) {
    for (const char32_t c : at(row, column).glyph) {
      if (c != 0) AppendUtf8(line, c);
    }
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::string Frame::Text() const {
  std::string text;
  for (int row = 0; row < rows_; ++row) text += Line(row) + "\n";
  return text;
}

void Frame::UseAscii() {
  for (auto& cell : cells_) cell.glyph[0] = AsciiOf(cell.glyph[0]);
}

}  // namespace slipway::launcher::watch
