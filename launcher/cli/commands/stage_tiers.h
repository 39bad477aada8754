/// The tiers that a `slipway stage` command works on, and what lies in them.
#pragma once

#include <string>
#include <vector>

#include "core/json.h"
#include "launcher/spec/spec.h"
#include "staging/generation/inventory.h"
#include "staging/plan/plan.h"

namespace slipway::launcher {

/// The names without aliases. Errors: Error(kUsage) for a relative dir:PATH.
std::vector<std::string> WithoutAliases(const std::vector<std::string>& tiers, const SiteSpec& site);

struct TierContent {
  staging::TierState state;
  staging::Inventory inventory;  ///< empty where the tier cannot be used
};

/// Those of `wanted`, or all that are known; a root that two names share stands there once.
std::vector<TierContent> LookAtTiers(const std::vector<std::string>& wanted, const SiteSpec& site);

/// One generation and where it lies.
struct Found {
  std::string tier;
  std::filesystem::path root;
  staging::StoredGeneration generation;
};

/// All generations of the tiers.
std::vector<Found> AllGenerations(const std::vector<TierContent>& tiers);

/// Those that `names` mean: names of generations, or paths of their directories (also in tiers that are not known).
/// Errors: Error(kUsage) naming one that is nowhere.
std::vector<Found> FindGenerations(const std::vector<std::string>& names, const std::vector<TierContent>& tiers);

/// What was left behind, and what is being staged.
Json ListOf(const std::vector<staging::UnfinishedStaging>& leftovers);

}  // namespace slipway::launcher
