/// The run that a command names.
#pragma once

#include <string>

#include "launcher/cli/commands/session.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

/// FindRun, with a warning for each run that `last` skips.
inline RunFolder FindRun(const Session& session, const std::string& selector) {
  return FindRun(session.runs_directory, selector, [&](const std::string& text) { session.output.Warn(text); });
}

}  // namespace slipway::launcher
