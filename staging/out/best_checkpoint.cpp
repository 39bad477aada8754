#include "staging/out/best_checkpoint.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"
#include "core/json_fields.h"

namespace slipway::staging {

template <class Visitor, MaybeConst<BestRule> Struct>
void Visit(Visitor& visit, Struct& rule) {
  visit("metric", rule.metric);
  visit("goal", rule.goal, Presence::kOptional);
}

template <class Visitor, MaybeConst<CheckpointValues> Struct>
void Visit(Visitor& visit, Struct& values) {
  visit("step", values.step);
  visit("metrics", values.metrics, Presence::kOptional);
  visit("keep_best", values.keep_best, Presence::kOptional);
}

std::optional<CheckpointValues> ReadCheckpointValues(const std::filesystem::path& checkpoint) try {
  const auto text = ReadFileIfPresent(checkpoint / "manifest.json");
  if (!text) return {};
  const DocumentName name{(checkpoint / "manifest.json").string()};
  return ReadFields<CheckpointValues>(ParseDocument(*text, "slipway.checkpoint/1", name), name);
} catch (const Error&) {  // damaged or unreadable: torn
  return {};
}

std::optional<std::size_t> BestOf(const std::vector<CheckpointValues>& checkpoints) {
  const auto newest = std::ranges::max_element(checkpoints, {}, &CheckpointValues::step);
  if (newest == checkpoints.end() || !newest->keep_best) return {};
  const double sign = newest->keep_best->goal == "maximize" ? -1 : 1;
  std::optional<std::size_t> best;
  std::pair<double, std::uint64_t> best_place;
  for (std::size_t i = 0; i < checkpoints.size(); ++i) {
    const auto found = checkpoints[i].metrics.find(newest->keep_best->metric);
    if (found == checkpoints[i].metrics.end() || !found->second || std::isnan(*found->second)) continue;
    const std::pair place{sign * *found->second, ~checkpoints[i].step};  // of equal ones the newest
    if (best && !(place < best_place)) continue;
    best = i;
    best_place = place;
  }
  return best;
}

}  // namespace slipway::staging
