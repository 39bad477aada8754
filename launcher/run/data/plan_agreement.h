/// In which tier the nodes of a job can all hold a dataset, and which of them share a place.
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

/// The first tier, from that of the manager's own `plan` on, in which every node can hold the dataset, at one path: the
/// ranks of all nodes are told one directory. Its share of one that is shared out each node may hold where it likes.
/// Pure.
/// Errors: Error(kEnvironment) when there is none, naming for each tier a node and its reason.
AgreedTier AgreeOnTier(const staging::StagingPlan& plan, const std::vector<member::MemberHello>& hellos);

/// The nodes (numbers into `hellos`) that are to stage it: of those that see the same directory the first. Pure.
std::vector<std::size_t> StagersOf(const member::TierOfDataset& what, const std::vector<member::MemberHello>& hellos);

}  // namespace slipway::launcher
