/// Chooses a tier that can hold a dataset on all nodes of a job, and the nodes that stage it.
#pragma once

#include <string>
#include <vector>

#include "core/error.h"
#include "launcher/run/data/member_protocol.h"
#include "staging/plan/plan.h"

namespace slipway::launcher {

struct AgreedTier {
  std::string tier;
  std::vector<std::string> skipped;  ///< one line for each tier before it, with a node that cannot hold it
};

/// The first tier in which every node can hold the dataset, starting at the tier of the manager's own `plan`. It must
/// be at the same path on every node, because all ranks get one directory. Shares may have different paths. Pure.
/// Errors: Error(kEnvironment) when there is none, with a node and its reason for each tier.
AgreedTier AgreeOnTier(const staging::StagingPlan& plan, const std::vector<member::MemberHello>& hellos);

/// The nodes (indices into `hellos`) that stage the dataset: the first of those that share a directory. Pure.
std::vector<std::size_t> StagersOf(const member::TierOfDataset& what, const std::vector<member::MemberHello>& hellos);

}  // namespace slipway::launcher
