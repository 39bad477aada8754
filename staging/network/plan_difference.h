/// What a node plans, short enough to be sent, and in which way two plans differ.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "staging/network/group_key.h"
#include "staging/plan/plan.h"

namespace slipway::staging {

/// Everything that must be the same on all nodes, as one number.
Digest PlanDigest(const StagingPlan& plan, const std::vector<std::size_t>& order, std::uint32_t readers);

/// For PlanDifference on another node; at most 2 MiB however many files there are.
std::string DescribePlan(const StagingPlan& plan, const std::vector<std::size_t>& order, std::uint32_t readers);

/// "file 'train-00003.tfrecord' has another size here than there": the first thing that differs. `own` and `other` are
/// what DescribePlan returned; `other` may be anything.
std::string PlanDifference(std::string_view own, std::string_view other);

}  // namespace slipway::staging
