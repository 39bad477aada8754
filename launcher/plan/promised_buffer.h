/// The burst buffer that the batch script asks for, as a tier: planned with before there is any.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "launcher/spec/load.h"
#include "staging/plan/plan.h"

namespace slipway::launcher {

/// What DiscoverTiers finds on this node; the tier `burst`, where a Slurm job will have it and we are not in that job
/// yet, is what its directives promise. The root of such a tier begins with the variable that the job will know.
std::vector<staging::TierState> TiersForRun(const std::vector<std::string>& wanted, const SpecDocument& document);

/// Inside a job whose directives have staged the dataset: where its files lie, unverified. Nothing elsewhere.
std::optional<std::filesystem::path> StagedIn(const std::string& dataset);

/// What directives have staged stays in the buffer: the tiers that stand before it go, and the room that the files take
/// there already is free for them. Changes nothing where no directive has staged the dataset.
/// Cost: one stat for each file that was staged.
void PreferStagedIn(staging::DatasetRequest& request, std::vector<staging::TierState>& tiers);

/// True for the root of a tier that is only promised.
bool IsPromised(const std::filesystem::path& root);

}  // namespace slipway::launcher
