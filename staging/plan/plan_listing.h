/// The list of a plan's files for readers that begin before all are there.
#pragma once

#include <string>

#include "staging/dataset/listing.h"
#include "staging/plan/plan.h"

namespace slipway::staging {

/// In the plan's order, as WriteListing takes it.
std::string RenderListingOf(const StagingPlan& plan);

}  // namespace slipway::staging
