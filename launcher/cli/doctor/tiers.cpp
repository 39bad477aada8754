#include "launcher/cli/doctor/tiers.h"

#include <fmt/format.h>

#include "launcher/spec/load.h"
#include "staging/generation/discover_tiers.h"
#include "staging/plan/tier_places.h"

namespace slipway::launcher {
namespace {

constexpr Bytes kEnoughForTier{256u << 20};

Finding JudgeTier(const staging::TierState& tier) {
  const auto about = "tier " + tier.name;
  if (!tier.usable) {
    return Warn(about, fmt::format("cannot be used: {}", tier.reason), "runs use the next tier that they name");
  }
  const auto text = fmt::format("{} free in {} ({})", FormatBytes(tier.available), tier.root.string(), tier.origin);
  if (tier.available >= kEnoughForTier) return Ok(about, text);
  return Warn(about, text, "list the staged data: slipway stage ls; remove what is unused: slipway stage gc");
}

}  // namespace

std::vector<staging::TierState> ProbeTiers() {
  const auto site = LoadSite(SettingsFiles());
  return staging::DiscoverTiers(staging::KnownTiers(site.tiers), site.tiers);
}

Findings Judge(const std::vector<staging::TierState>& tiers) {
  Findings findings;
  for (const auto& tier : tiers) findings.push_back(JudgeTier(tier));
  if (findings.empty()) findings.push_back(Warn("tiers", "this machine has none: data is read in place", ""));
  return findings;
}

}  // namespace slipway::launcher
