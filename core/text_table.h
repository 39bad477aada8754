/// Tables for people.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace slipway {

/// Rows under a header, columns aligned; numbers to the right.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> header);
  void AddRow(std::vector<std::string> row);
  /// Cuts the cells of one column, with `…`, so that the lines of the rows so far fit into `columns`. A few characters
  /// stay of each. None: nothing is cut.
  void CutToFit(const std::string& title, std::optional<int> columns);
  std::string Render() const;

 private:
  std::vector<std::size_t> Widths() const;

  std::vector<std::vector<std::string>> rows_;
};

}  // namespace slipway
