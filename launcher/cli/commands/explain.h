/// `slipway explain`: why a run waits, what it does, or why it ended, and what can be done.
#pragma once

#include <string>

#include "launcher/cli/commands/session.h"

namespace slipway::launcher {

struct ExplainOptions {
  std::string run = "last";
};

/// Returns 0 for every outcome of the run; `status` exits with the outcome.
int Explain(const ExplainOptions& options, Session& session);

}  // namespace slipway::launcher
