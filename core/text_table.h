/// Tables for people.
#pragma once

#include <string>
#include <vector>

namespace slipway {

/// Rows under a header, columns aligned; numbers to the right.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> header);
  void AddRow(std::vector<std::string> row);
  std::string Render() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace slipway
