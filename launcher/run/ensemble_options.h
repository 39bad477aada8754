/// From a plan to what its ensemble shall do.
#pragma once

#include "ensemble/options.h"
#include "launcher/plan/plan.h"

namespace slipway::launcher {

/// The plan has an ensemble. `requests_in` is left to whoever has a run folder.
/// Errors: kUsage for a space that cannot be, and for a grid without end.
ensemble::EnsembleOptions EnsembleOptionsFor(const Plan& plan);

}  // namespace slipway::launcher
