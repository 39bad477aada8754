/// A screen of characters, drawn in memory. Text from runs may hold anything: it is made harmless here.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace slipway::launcher::watch {

enum class Style : std::uint8_t { kPlain, kDim, kStrong, kTitle, kGood, kBad, kWarning, kAccent, kSelected };

/// A character with up to two combining ones, 0 for none. The cell after a wide character has no character at all.
struct Cell {
  std::array<char32_t, 3> glyph{U' ', 0, 0};
  Style style = Style::kPlain;
};

struct Rectangle {
  int row = 0;
  int column = 0;
  int rows = 0;
  int columns = 0;
};

class Frame {
 public:
  Frame(int rows, int columns);

  int rows() const { return rows_; }
  int columns() const { return columns_; }
  /// `row` and `column` lie within the frame.
  const Cell& at(int row, int column) const { return cells_[IndexOf(row, column)]; }

  /// Puts one line; what is outside the frame is cut off. A text that is longer than `width` columns ends with `…`.
  /// Returns the column after it.
  int Put(int row, int column, std::string_view text, Style style = Style::kPlain, int width = 1 << 20);
  /// The same, ending before column `end`.
  void PutRight(int row, int end, std::string_view text, Style style = Style::kPlain);
  /// One character of one column.
  void Set(int row, int column, char32_t glyph, Style style);
  /// Gives the cells of a row this style, whatever stands there.
  void Paint(int row, Style style);

  /// The row as UTF-8, without blanks at its end.
  std::string Line(int row) const;
  /// All rows, each with its newline.
  std::string Text() const;
  /// Replaces lines, blocks and braille by ASCII, for terminals whose font lacks them.
  void UseAscii();

 private:
  std::size_t IndexOf(int row, int column) const {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(columns_) + static_cast<std::size_t>(column);
  }
  bool Holds(int row, int column) const { return row >= 0 && row < rows_ && column >= 0 && column < columns_; }

  int rows_;
  int columns_;
  std::vector<Cell> cells_;
};

}  // namespace slipway::launcher::watch
