/// What an ensemble has come to, for people and programs.
#pragma once

#include "ensemble/manager/manager.h"
#include "ensemble/study/options.h"
#include "launcher/run/context/run_context.h"

namespace slipway::launcher {

/// Succeeded: nothing that could run is left, or its time is used up, and a trial is complete. Pure.
RunResult ResultOf(const ensemble::EnsembleSummary& summary, const ensemble::EnsembleOptions& options);

}  // namespace slipway::launcher
