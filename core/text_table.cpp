#include "core/text_table.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <string_view>

#include "core/terminal_columns.h"

namespace slipway {
namespace {

constexpr std::string_view kGap = "  ";
constexpr int kLeastCut = 12;  ///< columns that stay of a cell that is cut

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

std::vector<std::size_t> TextTable::Widths() const {
  std::vector<std::size_t> widths(rows_.front().size(), 0);
  for (const auto& row : rows_) {
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], Columns(row[c]));
  }
  return widths;
}

void TextTable::CutToFit(const std::string& title, std::optional<int> columns) {
  const auto& header = rows_.front();
  const auto found = std::ranges::find(header, title);
  if (!columns || found == header.end()) return;
  const auto at = static_cast<std::size_t>(found - header.begin());
  const auto widths = Widths();
  const auto line = std::accumulate(widths.begin(), widths.end(), kGap.size() * (widths.size() - 1));
  const int room = std::max(kLeastCut, *columns - static_cast<int>(line - widths[at]));
  for (auto& row : rows_) {
    if (WidthOf(row[at]) > room) row[at] = CutToColumns(row[at], room);
  }
}

std::string TextTable::Render() const {
  const auto columns = rows_.front().size();
  const auto widths = Widths();
  std::vector<bool> numeric(columns, rows_.size() > 1);
  for (std::size_t r = 1; r < rows_.size(); ++r) {
    for (std::size_t c = 0; c < columns; ++c) numeric[c] = numeric[c] && LooksNumeric(rows_[r][c]);
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t c = 0; c < columns; ++c) {
      const std::string padding(widths[c] - Columns(row[c]), ' ');
      if (c > 0) line += kGap;
      line += numeric[c] ? padding + row[c] : row[c] + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

}  // namespace slipway
