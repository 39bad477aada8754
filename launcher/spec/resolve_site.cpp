#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "core/nearest_word.h"
#include "launcher/spec/checks.h"
#include "launcher/spec/spec.h"

namespace slipway::launcher {
namespace {

constexpr std::array<std::string_view, 4> kBuiltIn = {"burst", "node", "ram", "none"};

bool IsBuiltIn(std::string_view text) { return std::find(kBuiltIn.begin(), kBuiltIn.end(), text) != kBuiltIn.end(); }

const Json& MapAt(const Draft& draft, std::string_view path) {
  static const Json kNothing = Json::object();
  const Json& map = draft.At(path);
  return map.is_object() ? map : kNothing;
}

bool IsTier(const std::string& text, const Draft& draft) {
  return text.starts_with("dir:") || text.starts_with("burst:") || IsBuiltIn(text) ||
         MapAt(draft, "site.tiers").contains(text);
}

std::vector<std::string> WordsOfTiers(const Draft& draft) {
  std::vector<std::string> known(kBuiltIn.begin(), kBuiltIn.end());
  for (const auto& [name, tier] : MapAt(draft, "site.tiers").items()) known.push_back(name);
  for (const auto& [alias, tier] : MapAt(draft, "tiers").items()) known.push_back(alias);
  return known;
}

void CheckAliases(Report& report, const Draft& draft) {
  for (const auto& [alias, tier] : MapAt(draft, "tiers").items()) {
    if (tier.is_string() && IsTier(tier.get<std::string>(), draft) && !IsTier(alias, draft)) continue;
    report.Error(draft.PlaceOf("tiers." + alias), "an alias is a new word for burst, node, ram, none or dir:PATH");
  }
}

void CheckSiteTiers(Report& report, const Draft& draft) {
  for (const auto& [name, tier] : MapAt(draft, "site.tiers").items()) {
    const auto place = draft.PlaceOf("site.tiers." + name);
    if (name == "none") report.Error(place, "'none' means that data is read where it lies; it cannot be defined anew");
    const bool no_path = tier["path"].is_null() && draft.failed.count("site.tiers." + name + ".path") == 0;
    if (no_path && !IsBuiltIn(name)) report.Error(place, "a tier of a new name needs 'path'");
  }
}

void CheckPatience(Report& report, const Draft& draft) {
  const auto& silence = draft.At("site.patience.silent_node");
  if (!silence.is_number() || Seconds(silence.get<double>()) >= kShortestSilence) return;
  report.Error(draft.PlaceOf("site.patience.silent_node"), "must be at least 4s: a shorter silence of a node is usual");
}

}  // namespace

void MakeList(Json& value) {
  if (!value.is_null() && !value.is_array()) value = Json::array({value});
}

void ResolveTiers(const std::string& path, Json& tiers, Report& report, Draft& draft) {
  const Json& aliases = MapAt(draft, "tiers");
  for (std::size_t i = 0; i < tiers.size(); ++i) {
    const auto text = tiers[i].get<std::string>();
    if (IsTier(text, draft)) continue;
    if (aliases.contains(text)) {
      tiers[i] = aliases[text];
      continue;
    }
    draft.failed.insert(path);
    report.Error(draft.PlaceOf(path + "[" + std::to_string(i) + "]"), "unknown tier " + Quoted(text),
                 NearestWord(text, WordsOfTiers(draft)));
  }
  if (tiers.empty()) report.Error(draft.PlaceOf(path), "an empty list of tiers; write none to read the data in place");
}

void ResolveSite(Report& report, Draft& draft) {
  CheckAliases(report, draft);
  CheckSiteTiers(report, draft);
  CheckPatience(report, draft);
  Json& site = draft.values()["site"];
  if (!site.is_object() || !site.contains("tier_order")) return;
  MakeList(site["tier_order"]);
  if (!site["tier_order"].is_null()) ResolveTiers("site.tier_order", site["tier_order"], report, draft);
}

}  // namespace slipway::launcher
