/// Finds reported metrics of a trial that could not be read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "ensemble/model/records.h"

namespace slipway::launcher {

/// Lines of one attempt's metrics.jsonl that were left out, as a whole or in part.
struct UnreadMetrics {
  int attempt = 1;
  std::int64_t lines = 0;  ///< how many
  std::int64_t first = 0;  ///< the first of them, from 1
  std::string why;         ///< what is wrong with that one
};

/// The unreadable lines of each attempt that has some. An unfinished last line does not count while its attempt runs.
/// Cost: reads the metrics files of the attempts.
std::vector<UnreadMetrics> FindUnreadMetrics(const std::filesystem::path& trial_folder,
                                             const std::vector<ensemble::AttemptRecord>& attempts);

/// "3 lines of attempt 1's metrics.jsonl could not be read; line 2: 'loss' is no number"
std::string Describe(const UnreadMetrics& unread);
/// A list of objects: attempt, lines, first, why.
Json ToJson(const std::vector<UnreadMetrics>& all);

}  // namespace slipway::launcher
