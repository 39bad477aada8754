/// From a plan to what its ensemble shall do.
#pragma once

#include "ensemble/study/options.h"
#include "launcher/plan/plan.h"

namespace slipway::launcher {

/// The plan has an ensemble, whose trials are packed into `nodes`; empty: somebody else runs them, or each is a job of
/// its own. `requests_in` is left to whoever has a run folder.
/// Errors: kUsage for a space that cannot be, and for a grid without end; what FitTrials throws.
ensemble::EnsembleOptions EnsembleOptionsFor(const Plan& plan, std::vector<ensemble::AllocatedNode> nodes = {});

}  // namespace slipway::launcher
