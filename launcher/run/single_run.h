/// A run without an ensemble: attempts until one succeeds or no restart is left.
#pragma once

#include "launcher/run/context/run_context.h"

namespace slipway::launcher {

/// Starts with attempt `context.state.attempt + 1`, from the newest valid checkpoint.
RunResult CarryOutSingleRun(RunContext& context);

}  // namespace slipway::launcher
