/// Metrics of an unchanged program, from the lines that it prints.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/metrics_line.h"
#include "launcher/ranks/monitor/pattern.h"

namespace slipway::launcher {

/// What a pattern has found so far.
struct PatternTally {
  std::int64_t lines = 0;                          ///< that were not empty
  std::int64_t matched = 0;                        ///< of them
  std::int64_t read = 0;                           ///< of those that matched, with a number at least
  std::map<std::string, std::string> no_number{};  ///< groups that never held a number -> their first text
};

/// "the pattern of train.metrics matches none of the 37 lines of rank 0"; empty: nothing is wrong.
std::string WhatIsWrong(const PatternTally& tally);

class PatternMetrics {
 public:
  /// `first_step`: the step of the first match, when steps are counted. Errors: as Pattern.
  explicit PatternMetrics(const std::string& pattern, std::int64_t first_step = 0)
      : pattern_(pattern), next_step_(first_step) {}

  /// The metrics in a line. Each part that ends with a carriage return is matched by itself, because progress bars
  /// overwrite their line. Colours and other escape sequences are removed first. A group named `step` or `epoch` gives
  /// the position; without one, steps are counted.
  std::vector<MetricsLine> Take(std::string_view line);
  /// The same for the start of a line that has no end yet: the parts that have ended. A bar may draw for hours before
  /// its line ends. The next call gets the same line, longer or whole.
  std::vector<MetricsLine> TakeUnfinished(std::string_view line);

  const PatternTally& tally() const { return tally_; }

 private:
  std::optional<MetricsLine> TakePart(std::string_view part);
  std::map<std::string, double> NumbersIn(std::string_view part);

  Pattern pattern_;
  std::int64_t next_step_;
  PatternTally tally_;
  std::set<std::string> numbers_;  // groups that were one
  std::size_t taken_ = 0;          // bytes of the unfinished line
};

}  // namespace slipway::launcher
