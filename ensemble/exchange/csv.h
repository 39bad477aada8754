/// Trials as comma-separated values, for spreadsheets and data frames.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ensemble/model/records.h"
#include "ensemble/space/space.h"

namespace slipway::ensemble {

/// One field as RFC 4180 writes it: in double quotes when it holds a comma, a quote or a line break. A text that a
/// spreadsheet would run as a formula (it begins with = + - @, a tab or a carriage return) gets an apostrophe in front,
/// which spreadsheets take for "this is text". Bytes that are not UTF-8 become U+FFFD.
std::string CsvText(std::string_view text);

/// The table of a study: columns `trial`, `state`, one for each objective, `seconds` (of the latest attempt),
/// `attempts`, `reason`, one for each parameter of the space. An objective or parameter whose name is another column's
/// already has `objective.` or `parameter.` in front. Lines are without their end.
class TrialsCsv {
 public:
  TrialsCsv(const StudyRecord& study, const SearchSpace& space);
  const std::string& header() const { return header_; }
  /// Empty fields: no value, not ended, parameter not active. A value null is the word `null`, an empty text "".
  std::string Row(const TrialRecord& trial) const;

 private:
  std::string header_;
  std::size_t objectives_;
  std::vector<std::string> parameters_;
};

}  // namespace slipway::ensemble
