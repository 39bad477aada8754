/// `slipway report`: runs as one page, or as JSON.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "launcher/cli/commands/session.h"

namespace slipway::launcher {

struct ReportOptions {
  std::vector<std::string> runs;  ///< empty: the last one
  std::filesystem::path out;      ///< empty: report.html in the run folder; of several runs in the working directory
};
/// With --json it prints the view and writes nothing.
int Report(const ReportOptions& options, Session& session);

}  // namespace slipway::launcher
