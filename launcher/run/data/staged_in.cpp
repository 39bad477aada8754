#include "launcher/run/data/staged_in.h"

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "core/documents.h"
#include "core/files.h"
#include "launcher/plan/batch_plan.h"

namespace slipway::launcher {
namespace fs = std::filesystem;
namespace {

constexpr char kRecord[] = "staged_in.json";

/// The generation's name holds size, time and inode of every source.
std::string RecordedGeneration(const RunFolder& folder, const std::string& dataset) {
  const auto text = ReadDocumentIfPresent(folder.path() / kRecord);
  const auto record = text ? Json::parse(*text, nullptr, false) : Json();
  if (!record.is_object() || !record.contains("datasets") || !record["datasets"].is_object()) return {};
  const auto& generation = record["datasets"].value(dataset, Json());
  return generation.is_string() ? generation.get<std::string>() : std::string();
}

}  // namespace

void RecordStagedIn(const RunFolder& folder, const Plan& plan) {
  Json datasets = Json::object();
  for (const auto& dataset : plan.data) {
    if (IsStagedByDirective(plan, dataset)) datasets[dataset.request.name] = dataset.generation;
  }
  if (datasets.empty()) {
    fs::remove(folder.path() / kRecord);
    return;
  }
  const Json record{{"schema", "slipway.staged-in/1"}, {"datasets", datasets}};
  WriteFileAtomically(folder.path() / kRecord, record.dump() + "\n");
}

void RemoveEmptyStagedIn() {
  const char* place = std::getenv("SLIPWAY_STAGED_IN");
  std::error_code ignored;
  if (place != nullptr) fs::remove(place, ignored);
}

staging::FoundFiles FoundFor(const RunFolder& folder, const staging::StagingPlan& dataset) {
  const char* place = std::getenv("SLIPWAY_STAGED_IN");
  if (place == nullptr || dataset.tier != "burst") return {};
  const auto generation = RecordedGeneration(folder, dataset.request.name);
  if (generation.empty()) return {};
  return {fs::path(place) / dataset.request.name, generation == dataset.generation};
}

}  // namespace slipway::launcher
