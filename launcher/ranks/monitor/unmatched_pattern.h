/// A pattern that found no metrics in a log: why, and which lines it may have been meant for.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "launcher/ranks/monitor/pattern_metrics.h"

namespace slipway::launcher {

struct UnmatchedPattern {
  std::string pattern;
  PatternTally tally;
  std::vector<std::string> nearest;  ///< lines of the log that have most of the pattern's words, and a number
};

/// Nothing when nothing is wrong. Cost: matches every line of the log.
std::optional<UnmatchedPattern> FindUnmatched(const std::string& pattern, const std::filesystem::path& log);

/// The lines that have most words of the pattern in common with it, whatever the case, and of these those with a
/// number; lines that differ in numbers alone count once. Pure.
std::vector<std::string> NearestLines(const std::string& pattern, const std::vector<std::string>& lines);

Json ToJson(const UnmatchedPattern& unmatched);

}  // namespace slipway::launcher
