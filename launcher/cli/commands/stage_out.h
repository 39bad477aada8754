/// `slipway stage out`: copies what a run left in a tier into its folder, or any directory to another place.
#pragma once

#include <string>
#include <vector>

#include "launcher/cli/commands/session.h"

namespace slipway::launcher {

struct StageOutCommand {
  std::vector<std::string> what;  ///< a run; or a directory and its destination; empty: with `all`, else the last run
  bool all = false;
  bool dry_run = false;
  std::string bandwidth;  ///< most bytes a second; empty: the limit of the run's spec
};

/// Prints `slipway.stage_out/1`. Returns 0 when nothing is left in the tiers, else the exit code of the first error.
/// Every error is reported. Errors: Error(kUsage). With one run or a directory: what StageOutDirectory throws, and
/// Error(kBusy) while the run has a manager.
int StageOut(const StageOutCommand& options, Session& session);

}  // namespace slipway::launcher
