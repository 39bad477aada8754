/// What the runs of a folder have used, together. Pure.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/words.h"
#include "launcher/view/accounting.h"

namespace slipway::launcher {

/// What rows are grouped by.
enum class UsageKey { kUser, kName, kEngine };
WordTable<UsageKey> WordsOf(UsageKey);

struct UsedRun {
  std::string user;  ///< owner of the folder
  std::string name;
  std::string engine;
  Accounting accounting;
};

struct UsageRow {
  std::vector<std::string> keys;  ///< one for each of `by`
  int runs = 0;
  double node_hours = 0;
  double core_hours = 0;
  double gpu_hours = 0;
  Energy energy;                              ///< of those runs whose energy is known
  std::map<std::string, double> parts_hours;  ///< node-hours by part of the accounting
};

struct Usage {
  std::vector<UsageKey> by;
  std::vector<UsageRow> rows;  ///< those with the most node-hours first
  UsageRow total;
};

Usage SumUsage(std::span<const UsedRun> runs, std::vector<UsageKey> by);

/// `slipway.usage/1`; `since`: seconds since 1970, nothing: from the beginning.
Json ToJson(const Usage& usage, std::optional<double> since);
std::string Describe(const Usage& usage);

}  // namespace slipway::launcher
