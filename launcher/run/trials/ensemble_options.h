/// The options of the ensemble of a plan.
#pragma once

#include "ensemble/study/options.h"
#include "launcher/plan/plan.h"

namespace slipway::launcher {

/// Makes the options. The plan must have an ensemble. Its trials are packed into `nodes`. Without nodes, another
/// program runs them, or each is a job of its own. The caller sets `requests_in`, if it has a run folder.
/// Errors: kUsage for an impossible search space and for an infinite grid; what FitTrials throws.
ensemble::EnsembleOptions EnsembleOptionsFor(const Plan& plan, std::vector<ensemble::AllocatedNode> nodes = {});

}  // namespace slipway::launcher
