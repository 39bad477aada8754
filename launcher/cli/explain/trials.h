/// Explains the trials of an ensemble. Pure.
#pragma once

#include "launcher/cli/explain/explanation.h"

namespace slipway::launcher {

/// The number of trials in each state, and of each cause of failure; or why they cannot be read.
void ExplainTrials(const RunFacts& facts, Explanation& explanation);

}  // namespace slipway::launcher
