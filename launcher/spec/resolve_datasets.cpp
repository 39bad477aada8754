#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "launcher/spec/checks.h"
#include "launcher/spec/origin.h"
#include "staging/plan/plan.h"

namespace slipway::launcher {
namespace {

/// A dataset that names no tier takes the site's order.
void TakeSiteOrder(const std::string& path, Json& dataset, Draft& draft) {
  const Json& order = draft.At("site.tier_order");
  if (order.is_null() || draft.origins[path + ".tier"] != kDefaultOrigin) return;
  dataset["tier"] = order;
  draft.origins[path + ".tier"] = draft.origins["site.tier_order"];
}

void ResolveFormat(const std::string& path, Json& dataset, Report& report, const Draft& draft) {
  if (dataset["format"] != "auto" || dataset["source"].is_null() || dataset["source"].empty()) return;
  const auto refuse = [&](const std::string& why, bool may_be_elsewhere) {
    report.Error(draft.PlaceOf(path + ".source"),
                 fmt::format("{}; {}add format: tfrecord, hdf5, webdataset, numpy, images or raw", why,
                             may_be_elsewhere ? "correct the path, or " : ""));
  };
  try {
    const auto formats = staging::FormatsOfSources(dataset["source"].get<std::vector<std::string>>());
    const auto one = formats.One();
    if (!one) return refuse(formats.WhyNotOne(), formats.is_missing);
    dataset["format"] = WordOf(*one);
  } catch (const Error& error) {  // a folder that cannot be read
    refuse(error.message(), true);
  }
}

/// The label of an image is the place of its folder among all folders: one file alone does not tell it.
void CheckImages(const std::string& path, const Json& dataset, Report& report, const Draft& draft) {
  if (dataset["format"] != "images" || (dataset["overlap"] != true && dataset["distribute"] != "node-shard")) return;
  report.Error(draft.PlaceOf(path + (dataset["overlap"] == true ? ".overlap" : ".distribute")),
               "images need all class folders on every node before the first batch; write overlap: false and "
               "distribute: replicate, or convert them: slipway data convert --to tfrecord");
}

/// What goes by records cannot be had of files whose content is not looked at.
void CheckRaw(const std::string& path, const Json& dataset, Report& report, const Draft& draft) {
  if (dataset["format"] != "raw") return;
  if (dataset["overlap"] == true) {
    report.Error(draft.PlaceOf(path + ".overlap"),
                 "overlap is for formats with records: a program finds raw files when all of them have arrived");
  }
  if (dataset["distribute"] == "node-shard") {
    report.Error(draft.PlaceOf(path + ".distribute"),
                 "node-shard is for formats with records: raw files have no records to share out; write replicate");
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
    CheckRaw(path, dataset, report, draft);
    CheckImages(path, dataset, report, draft);
  }
}

}  // namespace slipway::launcher
