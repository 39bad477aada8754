/// Whether the nodes of a job come to the same plan, and which of them share a place.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "launcher/run/member_protocol.h"
#include "staging/plan/plan.h"

namespace slipway::launcher {

/// The ranks of all nodes are told one directory for each dataset. Why `place`, where the node called `node` would
/// stage it, is none for `plan`; nothing when they agree. Pure.
std::optional<Error> Disagreement(const staging::StagingPlan& plan, const member::PlannedPlace& place,
                                  const std::string& node);

/// The nodes (numbers into `hellos`) that are to stage `dataset`: of those that see the same directory the first. Pure.
std::vector<std::size_t> StagersOf(const std::string& dataset, const std::vector<member::MemberHello>& hellos);

/// The place of a dataset; null when the member does not know it.
const member::PlannedPlace* PlaceOf(const std::string& dataset, const member::MemberHello& hello);

}  // namespace slipway::launcher
