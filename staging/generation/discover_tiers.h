/// Looks at the tiers of this node: the space in them and the generations that they hold.
#pragma once

#include <string>
#include <vector>

#include "staging/plan/tier_places.h"

namespace slipway::staging {

/// Looks at the tiers without creating anything. An unusable tier has a `reason`; it is not an error. An unset variable
/// in its path is such a reason: variables of a job are not set on a login node.
/// Cost:   a walk through the root of a tier with a capacity.
/// Errors: Error(kUsage) for a name that is no tier (tier_places.h).
std::vector<TierState> DiscoverTiers(const std::vector<std::string>& wanted,
                                     const std::vector<TierDefinition>& site = {});

}  // namespace slipway::staging
