/// Looks at the tiers of this node: the space in them and the generations that they hold.
#pragma once

#include <string>
#include <vector>

#include "staging/plan/tier_places.h"

namespace slipway::staging {

/// Looks at the tiers without creating anything. What stands against one is its `reason`, not an error: also a variable
/// in its path that is not set, as a job's are not on a login node.
/// Cost:   a walk through the root of a tier with a capacity.
/// Errors: Error(kUsage) for a name that is none of the above.
std::vector<TierState> DiscoverTiers(const std::vector<std::string>& wanted,
                                     const std::vector<TierDefinition>& site = {});

}  // namespace slipway::staging
