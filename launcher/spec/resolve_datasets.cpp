#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/nearest_word.h"
#include "launcher/spec/checks.h"

namespace slipway::launcher {
namespace {

void MakeList(Json& value) {
  if (!value.is_null() && !value.is_array()) value = Json::array({value});
}

bool IsTier(const std::string& text) {
  static constexpr std::array<std::string_view, 4> kWords = {"burst", "node", "ram", "none"};
  return text.starts_with("dir:") || std::find(kWords.begin(), kWords.end(), text) != kWords.end();
}

/// Where element `index` of a field stands that may also have been given as a single value.
Place ElementPlace(const Draft& draft, const std::string& path, std::size_t index) {
  return draft.PlaceOf(path + "[" + std::to_string(index) + "]");
}

/// An alias stands for a tier, not for a further alias.
void ResolveTiers(const std::string& path, Json& tiers, const Json& aliases, Report& report, Draft& draft) {
  for (std::size_t i = 0; i < tiers.size(); ++i) {
    const auto text = tiers[i].get<std::string>();
    if (IsTier(text)) continue;
    if (aliases.contains(text)) {
      tiers[i] = aliases[text];
      continue;
    }
    std::vector<std::string> known = {"burst", "node", "ram", "none"};
    for (const auto& [alias, tier] : aliases.items()) known.push_back(alias);
    draft.failed.insert(path);
    report.Error(ElementPlace(draft, path, i), "unknown tier " + Quoted(text), NearestWord(text, known));
  }
  if (tiers.empty()) report.Error(draft.PlaceOf(path), "an empty list of tiers; write none to use none");
}

void CheckAliases(const Json& aliases, Report& report, const Draft& draft) {
  for (const auto& [alias, tier] : aliases.items()) {
    if (tier.is_string() && IsTier(tier.get<std::string>()) && !IsTier(alias)) continue;
    report.Error(draft.PlaceOf("tiers." + alias), "an alias is a new word for burst, node, ram, none or dir:PATH");
  }
}

/// "tfrecord", "hdf5", or empty.
std::string FormatOfName(const std::string& path) {
  const std::string extension = std::filesystem::path(path).extension().string();
  if (extension.starts_with(".tfrecord")) return "tfrecord";
  return extension == ".h5" || extension == ".hdf5" ? "hdf5" : "";
}

void ResolveFormat(const std::string& path, Json& dataset, Report& report, const Draft& draft) {
  if (dataset["format"] != "auto" || dataset["source"].is_null() || dataset["source"].empty()) return;
  std::string format = FormatOfName(dataset["source"][0].get<std::string>());
  for (const Json& source : dataset["source"]) {
    if (FormatOfName(source.get<std::string>()) != format) format.clear();
  }
  if (format.empty()) {
    report.Error(draft.PlaceOf(path + ".source"),
                 "the names of the files do not tell their format; add format: tfrecord or format: hdf5");
  } else {
    dataset["format"] = format;
  }
}

}  // namespace

void ResolveDatasets(const Sources&, Report& report, Draft& draft) {
  Json& values = draft.values();
  const Json aliases = values["tiers"].is_object() ? values["tiers"] : Json::object();
  CheckAliases(aliases, report, draft);
  Json& checkpoint = values["checkpoint"];
  if (checkpoint.is_object() && !checkpoint["tier"].is_null()) {
    MakeList(checkpoint["tier"]);
    ResolveTiers("checkpoint.tier", checkpoint["tier"], aliases, report, draft);
  }
  for (auto& [name, dataset] : values["data"].items()) {
    const std::string path = "data." + name;
    MakeList(dataset["source"]);
    MakeList(dataset["tier"]);
    if (!dataset["tier"].is_null()) ResolveTiers(path + ".tier", dataset["tier"], aliases, report, draft);
    if (dataset["source"].is_array() && dataset["source"].empty()) {
      report.Error(draft.PlaceOf(path + ".source"), "an empty list of files");
    }
    ResolveFormat(path, dataset, report, draft);
  }
}

}  // namespace slipway::launcher
