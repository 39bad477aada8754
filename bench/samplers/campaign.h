/// All searches of a comparison: samplers x functions x seeds.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/samplers/search_run.h"
#include "core/json.h"

namespace slipway::bench {

/// One side of a comparison.
struct Side {
  std::string sampler;
  int parallel = 1;  ///< open trials: asked, without a result yet
};

/// "auto@8" is `auto` with eight open trials, "auto" has `otherwise`.
/// Errors: Error(kUsage) where a number from 1 to 10,000 should follow the @.
Side SideOf(const std::string& name, int otherwise);

/// What searches of peers gave: they cost minutes and do not change.
class PeerCache {
 public:
  /// An empty path keeps nothing. Results of another version of the peer than `version` are dropped; an empty version
  /// (the peer is not installed) takes what is there.
  /// Errors: Error(kEnvironment) when the file is not one of ours.
  PeerCache(std::filesystem::path path, std::string version);

  /// The version of the peer that made these results.
  const std::string& version() const { return version_; }
  /// Only with all marks of the task.
  std::optional<Outcome> Find(const TestFunction& function, const Task& task) const;
  void Keep(const TestFunction& function, const Task& task, const Outcome& outcome);
  void Save() const;

 private:
  std::filesystem::path path_;
  std::string version_;
  std::map<std::string, Outcome> outcomes_;
};

struct CampaignPlan {
  std::vector<std::string> functions;
  std::vector<std::string> samplers;  ///< sides (Side): Slipway's and, by their names, those of the peer
  int seeds = 21;
  int first_seed = 1;  ///< first seed of Slipway's samplers; peers use 1, 2, ..., as in their cache
  int evaluations = 200;
  int parallel = 1;  ///< open trials (asked, without a result) of samplers whose name does not say it
  int jobs = 1;      ///< searches at a time
};

/// function -> sampler -> one outcome for each seed.
using CampaignResults = std::map<std::string, std::map<std::string, std::vector<Outcome>>>;

/// Reports progress on stderr. Peers are started when one of their results is not in the cache. New results are saved
/// there after each function.
/// Errors: Error(kUsage) for unknown names before anything runs; what a search throws.
CampaignResults RunCampaign(const CampaignPlan& plan, PeerCache& cache);

}  // namespace slipway::bench
