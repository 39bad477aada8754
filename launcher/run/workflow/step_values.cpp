#include "launcher/run/workflow/step_values.h"

#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/checkpoint.h"
#include "core/metrics_line.h"
#include "ensemble/store/trial_book.h"
#include "launcher/trials/trials_documents.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

/// As many as anything after a search may want.
constexpr std::size_t kMostTop = 1000;

Json CheckpointIn(const fs::path& checkpoints) {
  const auto newest = NewestCheckpoint(checkpoints);
  return newest ? Json(newest->directory.string()) : Json();
}

Json TrialValues(const RunFolder& folder, const ensemble::TrialRecord& trial) {
  return {{"trial", trial.number},
          {"value", *trial.objective},
          {"params", ensemble::ToJson(trial.parameters)},
          {"checkpoint", CheckpointIn(folder.trials() / fmt::format("{:05}", trial.number) / "checkpoints")}};
}

}  // namespace

Json ValuesOfMetrics(const fs::path& file) {
  Json metrics = Json::object();
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    const auto parsed = ParseMetricsLine(line);
    if (!parsed) continue;
    const auto written = JsonOfMetricsLine(line);
    for (const auto& [name, value] : written.at("metrics").items()) {
      const auto number = parsed->values.find(name);
      if (number == parsed->values.end()) continue;
      if (std::isfinite(number->second)) {
        metrics[name] = value;  // a whole number stays one
      } else {
        metrics.erase(name);
      }
    }
  }
  return {{"metrics", std::move(metrics)}};
}

Json ValuesOfRun(const RunFolder& folder) {
  Json metrics = Json::object();
  for (const auto& [name, value] : folder.ReadState().metrics) {
    if (std::isfinite(value)) metrics[name] = value;
  }
  return {{"run", folder.path().string()},
          {"metrics", std::move(metrics)},
          {"checkpoint", CheckpointIn(folder.checkpoints())}};
}

Json ValuesOfEnsemble(const RunFolder& folder) {
  auto book = ensemble::TrialBook::OpenForReading(folder.path());
  const auto study = book.Study();
  Json top = Json::array();
  if (study) {
    for (const auto& ranked : Rank(book.Trials(), study->objectives.front().goal, 1)) {
      if (!ranked.rank || top.size() >= kMostTop) break;
      top.push_back(TrialValues(folder, ranked.trial));
    }
  }
  Json values{{"run", folder.path().string()}, {"best", top.empty() ? Json() : top.front()}};
  values["top"] = std::move(top);
  return values;
}

}  // namespace slipway::launcher
