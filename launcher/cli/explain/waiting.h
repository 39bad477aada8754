/// A run whose job is in the queue, for Explain. Pure.
#pragma once

#include "launcher/cli/explain/explanation.h"

namespace slipway::launcher {

/// `facts.job` waits.
void ExplainWaiting(const RunFacts& facts, Explanation& explanation);

}  // namespace slipway::launcher
