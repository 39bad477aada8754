/// From the datasets of a spec to plans of where they are staged.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/spec/load.h"
#include "staging/plan/plan.h"

namespace slipway::launcher {

/// What staging is asked for. A limit of the site counts where the dataset has none.
staging::DatasetRequest RequestFor(const DatasetSpec& dataset, const SiteSpec& site);

/// Looks at the sources, chooses among the tiers, writes nothing.
/// Errors: what ListSources and PlanStaging throw, naming the dataset.
staging::StagingPlan PlanDataset(const staging::DatasetRequest& request, const std::vector<staging::TierState>& tiers,
                                 const staging::PlanRequest& for_whom);

/// The plan of each dataset of the experiment, for one of its nodes, which is this machine.
std::vector<staging::StagingPlan> PlanDatasets(const SpecDocument& document, int node = 0);

/// A dataset in one tier of its list.
struct TierPlan {
  std::string tier;
  std::optional<staging::StagingPlan> plan;
  std::string reason;  ///< why there is none
};
/// What PlanDatasets chooses from: each dataset in each tier that it may lie in, in the order of preference.
/// Errors: those of ListSources, naming the dataset.
std::vector<std::vector<TierPlan>> PlanInEachTier(const SpecDocument& document, int node);

/// True for a dataset whose files are shared out to the nodes of the job, wherever they then lie.
bool IsSharedOut(const staging::StagingPlan& plan);

/// True for a dataset that every node of the job stages: all of it into a place of its own, or its share.
bool IsStagedOnEachNode(const staging::StagingPlan& plan);

/// Where the ranks of a node will find it; that of a share is another on every node.
std::filesystem::path PlannedDirectory(const staging::StagingPlan& plan);
/// The list of who holds which share of a dataset, in RunFolder::data().
std::filesystem::path ShareListIn(const std::filesystem::path& data, const std::string& dataset);

/// For `slipway plan`: a few lines about one dataset.
std::string DescribeDataset(const staging::StagingPlan& plan, const DatasetSpec& dataset);

}  // namespace slipway::launcher
