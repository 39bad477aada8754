/// `slipway usage`: what all runs of the runs directory have used.
#pragma once

#include <string>
#include <vector>

#include "launcher/cli/commands/session.h"

namespace slipway::launcher {

struct UsageOptions {
  std::string since;                               ///< a duration before now; empty: all runs
  std::vector<std::string> by = {"user", "name"};  ///< words of UsageKey
};
/// A run that cannot be read is left out, with a warning. Errors: Error(kUsage) for a wrong duration or word.
/// Cost: some small files for each run, and for an ensemble its trial book; no metrics are read.
int ShowUsage(const UsageOptions& options, Session& session);

}  // namespace slipway::launcher
