/// The list of a plan's files for readers that begin before all are there.
#pragma once

#include "staging/dataset/listing.h"
#include "staging/plan/plan.h"

namespace slipway::staging {

/// In the plan's order.
Listing ListingOf(const StagingPlan& plan);

}  // namespace slipway::staging
