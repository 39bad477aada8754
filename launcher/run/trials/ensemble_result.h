/// The result of an ensemble, for people and programs.
#pragma once

#include "ensemble/manager/manager.h"
#include "ensemble/study/options.h"
#include "launcher/run/context/run_context.h"

namespace slipway::launcher {

/// Succeeded when a trial is complete and either no trial is left to run or the time is used up. Pure.
RunResult ResultOf(const ensemble::EnsembleSummary& summary, const ensemble::EnsembleOptions& options);

}  // namespace slipway::launcher
