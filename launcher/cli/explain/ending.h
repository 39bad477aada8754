/// Explains a run that has ended. Pure.
#pragma once

#include "launcher/cli/explain/explanation.h"

namespace slipway::launcher {

void ExplainEnd(const RunFacts& facts, Explanation& explanation);

/// The usual remedy for a program that ended like this; empty when there is no general advice.
std::string AdviceFor(const ExitStatus& status);

}  // namespace slipway::launcher
