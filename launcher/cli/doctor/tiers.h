/// Check "tiers": the storage tiers for staging, and their free space.
#pragma once

#include <vector>

#include "launcher/cli/doctor/finding.h"
#include "staging/plan/plan.h"

namespace slipway::launcher {

/// The tiers of this machine and of its settings files. Errors: as LoadSite.
std::vector<staging::TierState> ProbeTiers();
/// Pure.
Findings Judge(const std::vector<staging::TierState>& tiers);

}  // namespace slipway::launcher
