/// The burst buffer that the batch script requests, as a tier for planning before the job exists.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "launcher/spec/load.h"
#include "staging/plan/plan.h"

namespace slipway::launcher {

/// The tiers that DiscoverTiers finds on this node. Before a Slurm job begins, the tier `burst` is as its directives
/// promise. The root of such a tier begins with the variable that the job will have.
std::vector<staging::TierState> TiersForRun(const std::vector<std::string>& wanted, const SpecDocument& document);

/// In a job whose directives have staged the dataset: the directory of its files, unverified. Nothing elsewhere.
std::optional<std::filesystem::path> StagedIn(const std::string& dataset);

/// Keeps a dataset that directives have staged in the buffer. Removes the tiers before the buffer, and counts the space
/// of the staged files as free. Changes nothing where no directive has staged the dataset.
/// Cost: one stat for each staged file.
void PreferStagedIn(staging::DatasetRequest& request, std::vector<staging::TierState>& tiers);

/// True for the root of a tier that is only promised.
bool IsPromised(const std::filesystem::path& root);

}  // namespace slipway::launcher
