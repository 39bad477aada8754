/// The result of an ensemble, for people and programs.
#pragma once

#include <string_view>

#include "ensemble/manager/manager.h"
#include "ensemble/study/options.h"
#include "launcher/run/context/run_context.h"

namespace slipway::launcher {

/// Succeeded when a trial is complete and either no trial is left to run or the time is used up. `run`: its name in
/// advised commands. Pure.
RunResult ResultOf(const ensemble::EnsembleSummary& summary, const ensemble::EnsembleOptions& options,
                   std::string_view run);

}  // namespace slipway::launcher
