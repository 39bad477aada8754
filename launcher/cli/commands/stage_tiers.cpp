#include "launcher/cli/commands/stage_tiers.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"
#include "core/nearest_word.h"
#include "core/text.h"
#include "staging/dataset/manifest.h"
#include "staging/generation/discover_tiers.h"

namespace slipway::launcher {
namespace fs = std::filesystem;
namespace {

std::string WithoutAlias(const std::string& tier, const SiteSpec& site) {
  for (const auto& [alias, meant] : site.aliases) {
    if (alias == tier) return meant;
  }
  if (tier.starts_with("dir:") && tier.size() > 4)
    return "dir:" + fs::absolute(tier.substr(4)).lexically_normal().string();
  return tier;
}

std::vector<std::string> AllTiers(const SiteSpec& site) {
  auto names = staging::KnownTiers(site.tiers);
  for (const auto& [alias, meant] : site.aliases) names.push_back(meant);
  for (const auto& tier : site.tier_order) names.push_back(tier);
  std::erase(names, staging::kInPlaceTier);
  return names;
}

/// A directory with a manifest, wherever it lies: its parent is the tier.
std::optional<Found> GenerationAt(const std::string& name) {
  if (name.find('/') == std::string::npos || !Exists(fs::path(name) / staging::kManifestName)) return {};
  const auto directory = fs::canonical(name);
  for (const auto& generation : staging::TakeInventory(directory.parent_path()).generations) {
    if (generation.directory == directory)
      return Found{"dir:" + directory.parent_path().string(), directory.parent_path(), generation};
  }
  return {};
}

[[noreturn]] void RefuseUnknown(const std::string& name, const std::vector<Found>& all,
                                const std::vector<TierContent>& tiers) {
  const auto places = JoinEach(tiers, ", ", [](const auto& tier) { return tier.state.name; });
  std::vector<std::string> known;
  for (const auto& found : all) known.push_back(found.generation.name);
  const auto nearest = NearestWord(name, known);
  throw Error(ErrorKind::kUsage, fmt::format("there is no generation '{}' in {}", name, places),
              nearest.empty() ? "slipway stage ls lists what is there" : fmt::format("did you mean '{}'?", nearest));
}

}  // namespace

std::vector<std::string> WithoutAliases(const std::vector<std::string>& tiers, const SiteSpec& site) {
  std::vector<std::string> names;
  for (const auto& tier : tiers) names.push_back(WithoutAlias(tier, site));
  return names;
}

std::vector<TierContent> LookAtTiers(const std::vector<std::string>& wanted, const SiteSpec& site) {
  std::vector<TierContent> contents;
  for (auto& state :
       staging::DiscoverTiers(wanted.empty() ? AllTiers(site) : WithoutAliases(wanted, site), site.tiers)) {
    const bool again = std::any_of(contents.begin(), contents.end(), [&](const TierContent& content) {
      return content.state.name == state.name || (state.usable && content.state.root == state.root);
    });
    if (again) continue;
    auto inventory = state.usable ? staging::TakeInventory(state.root) : staging::Inventory();
    contents.push_back({std::move(state), std::move(inventory)});
  }
  return contents;
}

std::vector<Found> AllGenerations(const std::vector<TierContent>& tiers) {
  std::vector<Found> all;
  for (const auto& tier : tiers) {
    for (const auto& generation : tier.inventory.generations)
      all.push_back({tier.state.name, tier.state.root, generation});
  }
  return all;
}

std::vector<Found> FindGenerations(const std::vector<std::string>& names, const std::vector<TierContent>& tiers) {
  const auto all = AllGenerations(tiers);
  std::vector<Found> result;
  for (const auto& name : names) {
    const auto before = result.size();
    std::copy_if(all.begin(), all.end(), std::back_inserter(result),
                 [&](const Found& found) { return found.generation.name == name; });
    if (result.size() > before) continue;
    auto elsewhere = GenerationAt(name);
    if (!elsewhere) RefuseUnknown(name, all, tiers);
    result.push_back(std::move(*elsewhere));
  }
  return result;
}

Json ListOf(const std::vector<staging::UnfinishedStaging>& leftovers) {
  Json list = Json::array();
  for (const auto& leftover : leftovers) {
    list.push_back({{"name", leftover.name},
                    {"bytes", leftover.bytes.count},
                    {"abandoned", !leftover.worker},
                    {"worker", leftover.worker ? Json(*leftover.worker) : Json()},
                    {"staged_by", slipway::ToJson(leftover.staged_by)}});
  }
  return list;
}

}  // namespace slipway::launcher
