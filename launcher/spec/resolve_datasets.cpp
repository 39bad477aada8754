#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "launcher/spec/checks.h"
#include "launcher/spec/tier_words.h"

namespace slipway::launcher {
namespace {

/// A dataset that names no tier takes the site's order.
void TakeSiteOrder(const std::string& path, Json& dataset, Draft& draft) {
  const Json& order = draft.At("site.tier_order");
  if (order.is_null() || draft.origins[path + ".tier"] != "default") return;
  dataset["tier"] = order;
  draft.origins[path + ".tier"] = draft.origins["site.tier_order"];
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

void ResolveCheckpointTier(Json& checkpoint, Report& report, Draft& draft) {
  if (!checkpoint.is_object() || checkpoint["tier"].is_null()) return;
  MakeList(checkpoint["tier"]);
  ResolveTiers("checkpoint.tier", checkpoint["tier"], report, draft);
}

}  // namespace

void ResolveDatasets(const Sources&, Report& report, Draft& draft) {
  Json& values = draft.values();
  ResolveCheckpointTier(values["checkpoint"], report, draft);
  for (auto& [name, dataset] : values["data"].items()) {
    const std::string path = "data." + name;
    MakeList(dataset["source"]);
    MakeList(dataset["tier"]);
    TakeSiteOrder(path, dataset, draft);
    if (!dataset["tier"].is_null()) ResolveTiers(path + ".tier", dataset["tier"], report, draft);
    if (dataset["source"].is_array() && dataset["source"].empty()) {
      report.Error(draft.PlaceOf(path + ".source"), "an empty list of files");
    }
    ResolveFormat(path, dataset, report, draft);
  }
}

}  // namespace slipway::launcher
