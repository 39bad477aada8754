/// Trials as comma-separated values, for spreadsheets and data frames.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ensemble/model/records.h"
#include "ensemble/space/space.h"

namespace slipway::ensemble {

/// One field as in RFC 4180: in double quotes if it holds a comma, a quote or a line break.
/// A text that begins with = + - @, a tab or a carriage return gets an apostrophe in front. Spreadsheets then do not
/// run it as a formula. Bytes that are not UTF-8 become U+FFFD.
std::string CsvText(std::string_view text);

/// The table of a study. Columns: `trial`, `rank`, `state`, one for each objective, `seconds` (of the latest attempt),
/// `attempts`, `reason` (its first line), one for each parameter of the space.
/// If the name of an objective or parameter is taken by another column, it gets the prefix `objective.` or
/// `parameter.`. Lines come without a line end.
class TrialsCsv {
 public:
  TrialsCsv(const StudyRecord& study, const SearchSpace& space);
  const std::string& header() const { return header_; }
  /// Empty fields: no rank, no value, not ended, or parameter not active. The value null is `null`; an empty text is
  /// "".
  std::string Row(const TrialRecord& trial, std::optional<int> rank) const;

 private:
  std::string header_;
  std::size_t objectives_;
  std::vector<std::string> parameters_;
};

}  // namespace slipway::ensemble
