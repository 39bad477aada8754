/// `slipway watch`: a full-screen view of a run, or of all runs.
#pragma once

#include <string>

#include "launcher/cli/commands/session.h"

namespace slipway::launcher {

struct WatchOptions {
  std::string run = "last";  ///< or "all"
};

/// Shows the run until `q` or Ctrl-C. Reads only, except for what the user confirms: cancel, and retry of a trial.
/// Errors: Error(kEnvironment) without a terminal that can be used; those of FindRun.
int Watch(const WatchOptions& options, Session& session);

}  // namespace slipway::launcher
