/// A run that has ended, for Explain. Pure.
#pragma once

#include "launcher/cli/explain/explanation.h"

namespace slipway::launcher {

void ExplainEnd(const RunFacts& facts, Explanation& explanation);

/// What a program that ended like this often lacks; empty when nothing can be said in general.
std::string AdviceFor(const ExitStatus& status);

}  // namespace slipway::launcher
