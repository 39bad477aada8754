/// `slipway stage directives`: carries out the `#BB_LUA` lines of a job script. The burst-buffer hook of a site calls
/// it.
#pragma once

#include <filesystem>
#include <string>

#include "launcher/cli/commands/session.h"

namespace slipway::launcher {

struct StageDirectivesOptions {
  std::string what;              ///< check, in or out
  std::filesystem::path script;  ///< the job's; "-": standard input
  std::filesystem::path buffer;  ///< its directory; for in and out
  std::string capacity;          ///< of the buffer; empty: no limit
  std::string bandwidth;         ///< most bytes a second; empty: no limit
};

/// Prints `slipway.stage_directives/1`. Runs as the owner of the files. Errors: Error(kUsage) with the wrong directive;
/// those of CopyIntoBuffer and CopyOutOfBuffer.
int StageDirectives(const StageDirectivesOptions& options, Session& session);

}  // namespace slipway::launcher
