/// Staging plans for the datasets of a spec.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/spec/load.h"
#include "staging/plan/plan.h"

namespace slipway::launcher {

/// The staging request of a dataset. The site's bandwidth limit applies where the dataset has none.
staging::DatasetRequest RequestFor(const DatasetSpec& dataset, const SiteSpec& site);

/// Examines the sources and chooses a tier; writes nothing.
/// Errors: what ListSources and PlanStaging throw, naming the dataset.
staging::StagingPlan PlanDataset(const staging::DatasetRequest& request, const std::vector<staging::TierState>& tiers,
                                 const staging::PlanRequest& for_whom);

/// The plan of each dataset, for the job's node of this number, which is this machine.
std::vector<staging::StagingPlan> PlanDatasets(const SpecDocument& document, int node = 0);

/// The plan of a dataset for one tier of its list.
struct TierPlan {
  std::string tier;
  std::optional<staging::StagingPlan> plan;
  std::string reason;  ///< why there is none
};
/// The candidates of PlanDatasets: each dataset in each tier of its list, in the order of preference.
/// Errors: those of ListSources, naming the dataset.
std::vector<std::vector<TierPlan>> PlanInEachTier(const SpecDocument& document, int node);

/// True for a dataset whose files are divided among the nodes of the job, in any tier.
bool IsSharedOut(const staging::StagingPlan& plan);

/// True for a dataset that every node stages for itself: a full copy or its share.
bool IsStagedOnEachNode(const staging::StagingPlan& plan);

/// The dataset's directory for the ranks of a node; shares have a different one on every node.
std::filesystem::path PlannedDirectory(const staging::StagingPlan& plan);
/// The file in RunFolder::data() that lists which node holds which share of a dataset.
std::filesystem::path ShareListIn(const std::filesystem::path& data, const std::string& dataset);

/// For `slipway plan`: a few lines about one dataset.
std::string DescribeDataset(const staging::StagingPlan& plan, const DatasetSpec& dataset);

}  // namespace slipway::launcher
