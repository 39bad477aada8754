/// The burst buffer that the batch script asks for, as a tier: planned with before there is any.
#pragma once

#include <string>
#include <vector>

#include "launcher/spec/load.h"
#include "staging/plan/plan.h"

namespace slipway::launcher {

/// What DiscoverTiers finds on this node; the tier `burst`, where a Slurm job will have it and we are not in that job
/// yet, is what its directives promise. The root of such a tier begins with the variable that the job will know.
std::vector<staging::TierState> TiersForRun(const std::vector<std::string>& wanted, const SpecDocument& document);

/// True for the root of a tier that is only promised.
bool IsPromised(const std::filesystem::path& root);

}  // namespace slipway::launcher
