/// A run with an ensemble: its trials on this machine, in its allocation, or as jobs of their own.
#pragma once

#include "launcher/run/context/run_context.h"

namespace slipway::launcher {

/// Opens or continues the run's trial book and runs trials until the ensemble is done. Then it chooses the model
/// ensemble, if the spec has one.
RunResult CarryOutEnsemble(RunContext& context);

}  // namespace slipway::launcher
