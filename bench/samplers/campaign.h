/// All searches of a comparison: samplers x functions x seeds.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bench/samplers/peer_cache.h"

namespace slipway::bench {

struct CampaignPlan {
  std::vector<std::string> functions;
  std::vector<std::string> samplers;  ///< sides (side.h): Slipway's and, by their names, those of the peer
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
