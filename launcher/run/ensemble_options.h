/// From a plan to what its ensemble shall do.
#pragma once

#include "ensemble/options.h"
#include "launcher/plan/plan.h"

namespace slipway::launcher {

/// The plan has an ensemble, whose trials are packed into `nodes`; empty: into this machine. `requests_in` is left to
/// whoever has a run folder.
/// Errors: kUsage for a space that cannot be, and for a grid without end.
ensemble::EnsembleOptions EnsembleOptionsFor(const Plan& plan, std::vector<ensemble::NodeShare> nodes = {});

/// Whether trials have no cores of their own: the user wants more at a time than there are cores for.
bool TrialsShareCores(const Spec& spec, const std::vector<ensemble::NodeShare>& nodes);

}  // namespace slipway::launcher
