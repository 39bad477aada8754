/// `slipway explain`: why a run waits, what it does, or why it ended, and what can be done.
#pragma once

#include <string>

#include "launcher/cli/commands/session.h"

namespace slipway::launcher {

struct ExplainOptions {
  std::string run = "last";
};

/// Returns 0, whatever became of the run: `status` exits with that.
int Explain(const ExplainOptions& options, Session& session);

}  // namespace slipway::launcher
