/// Explains a run whose job is in the queue. Pure.
#pragma once

#include "launcher/cli/explain/explanation.h"

namespace slipway::launcher {

/// `facts.job` must be a waiting job.
void ExplainWaiting(const RunFacts& facts, Explanation& explanation);

}  // namespace slipway::launcher
