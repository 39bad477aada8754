/// The trials of an ensemble, for Explain. Pure.
#pragma once

#include "launcher/cli/explain/explanation.h"

namespace slipway::launcher {

/// How many are in which state, and of what how many failed.
void ExplainTrials(const RunFacts& facts, Explanation& explanation);

}  // namespace slipway::launcher
