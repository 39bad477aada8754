#include "core/text_table.h"

#include <algorithm>
#include <cctype>

#include "core/terminal_columns.h"

namespace slipway {
namespace {

std::size_t Columns(const std::string& text) { return static_cast<std::size_t>(WidthOf(text)); }

bool LooksNumeric(const std::string& text) {
  return text.empty() || text == "-" || std::isdigit(static_cast<unsigned char>(text.front())) ||
         (text.size() > 1 && text.front() == '-' && std::isdigit(static_cast<unsigned char>(text[1])));
}

}  // namespace

TextTable::TextTable(std::vector<std::string> header) { rows_.push_back(std::move(header)); }

void TextTable::AddRow(std::vector<std::string> row) {
  row.resize(rows_.front().size());
  rows_.push_back(std::move(row));
}

std::string TextTable::Render() const {
  const auto columns = rows_.front().size();
  std::vector<std::size_t> widths(columns, 0);
  std::vector<bool> numeric(columns, rows_.size() > 1);
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    for (std::size_t c = 0; c < columns; ++c) {
      widths[c] = std::max(widths[c], Columns(rows_[r][c]));
      if (r > 0 && !LooksNumeric(rows_[r][c])) numeric[c] = false;
    }
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t c = 0; c < columns; ++c) {
      const std::string padding(widths[c] - Columns(row[c]), ' ');
      line += (c > 0 ? "  " : "") + (numeric[c] ? padding + row[c] : row[c] + padding);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

}  // namespace slipway
