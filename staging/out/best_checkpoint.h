/// Which checkpoint is the best one, as their manifests say: docs/reference/json-documents.md, "slipway.checkpoint/1".
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace slipway::staging {

/// The metric that decides, and which of its values are good.
struct BestRule {
  std::string metric;
  std::string goal = "minimize";  ///< or "maximize"
};

/// What a manifest says of it.
struct CheckpointValues {
  std::uint64_t step = 0;
  std::map<std::string, std::optional<double>> metrics;
  std::optional<BestRule> keep_best;
};

/// Of a directory with a manifest. Without a readable one: nothing.
std::optional<CheckpointValues> ReadCheckpointValues(const std::filesystem::path& checkpoint);

/// The index of the best by the rule of the newest; of equal ones the newest. Nothing where that has no rule, or none
/// has a value.
std::optional<std::size_t> BestOf(const std::vector<CheckpointValues>& checkpoints);

}  // namespace slipway::staging
