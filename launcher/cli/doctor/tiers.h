/// Check "tiers": the places that data can be staged to, and the room in them.
#pragma once

#include <vector>

#include "launcher/cli/doctor/finding.h"
#include "staging/plan/plan.h"

namespace slipway::launcher {

/// By what this machine has and its settings files say. Errors: as LoadSite.
std::vector<staging::TierState> ProbeTiers();
/// Pure.
Findings Judge(const std::vector<staging::TierState>& tiers);

}  // namespace slipway::launcher
