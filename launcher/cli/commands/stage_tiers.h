/// The tiers of a `slipway stage` command, and what lies in them.
#pragma once

#include <string>
#include <vector>

#include "core/json.h"
#include "launcher/spec/spec.h"
#include "staging/generation/inventory.h"
#include "staging/plan/plan.h"

namespace slipway::launcher {

/// The names with aliases resolved. Errors: Error(kUsage) for a relative dir:PATH.
std::vector<std::string> WithoutAliases(const std::vector<std::string>& tiers, const SiteSpec& site);

struct TierContent {
  staging::TierState state;
  staging::Inventory inventory;  ///< empty where the tier cannot be used
};

/// The tiers in `wanted`, or all known ones. A root with two names is listed once.
std::vector<TierContent> LookAtTiers(const std::vector<std::string>& wanted, const SiteSpec& site);

/// One generation, with its tier and root.
struct Found {
  std::string tier;
  std::filesystem::path root;
  staging::StoredGeneration generation;
};

/// All generations of the tiers.
std::vector<Found> AllGenerations(const std::vector<TierContent>& tiers);

/// The generations that `names` select: names, or paths of directories, which may lie in unknown tiers.
/// Errors: Error(kUsage) naming a generation that does not exist.
std::vector<Found> FindGenerations(const std::vector<std::string>& names, const std::vector<TierContent>& tiers);

/// Leftovers and stagings in progress.
Json ListOf(const std::vector<staging::UnfinishedStaging>& leftovers);

}  // namespace slipway::launcher
