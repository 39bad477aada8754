/// `slipway compare`: what differs between runs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "launcher/cli/commands/session.h"

namespace slipway::launcher {

struct CompareOptions {
  std::vector<std::string> runs;  ///< at least two
  std::filesystem::path html;     ///< also write the report page of all runs there; empty: no
};
/// Exit status 1 when two runs should have had the same bits, and had not.
/// Errors: those of FindRun; Error(kUsage) for fewer than two different runs.
int CompareRuns(const CompareOptions& options, Session& session);

}  // namespace slipway::launcher
