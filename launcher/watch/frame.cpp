#include "launcher/watch/frame.h"

#include <algorithm>
#include <bit>

#include "core/terminal_columns.h"

namespace slipway::launcher::watch {
namespace {

constexpr char32_t kEllipsis = U'…';

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

Frame::Frame(int rows, int columns)
    : rows_(std::max(rows, 0)),
      columns_(std::max(columns, 0)),
      cells_(static_cast<std::size_t>(rows_) * static_cast<std::size_t>(columns_)) {}

int Frame::Put(int row, int column, std::string_view text, Style style, int width) {
  const int room = std::min(width, columns_ - column);
  if (room <= 0) return column;
  int last = column;  // where a combining character belongs
  for (const char32_t c : CutToColumns(Harmless(text), room)) {
    const int columns = WidthOf(c);
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
