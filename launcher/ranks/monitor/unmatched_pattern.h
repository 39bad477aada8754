/// Why a pattern found no metrics in a log, and which lines it may be meant for.
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
  std::vector<std::string> nearest;  ///< lines of the log that share most words with the pattern
};

/// Nothing when the pattern works. Cost: matches every line of the log.
std::optional<UnmatchedPattern> FindUnmatched(const std::string& pattern, const std::filesystem::path& log);

/// Up to three lines that share most words with the pattern, ignoring case. Of equal lines those with a number come
/// first. Lines that differ only in numbers count once. Pure.
std::vector<std::string> NearestLines(const std::string& pattern, const std::vector<std::string>& lines);

Json ToJson(const UnmatchedPattern& unmatched);

}  // namespace slipway::launcher
