/// Compares the results: medians, quartiles, tests between samplers, and which goals are reached.
#pragma once

#include "bench/samplers/campaign.h"
#include "core/json.h"

namespace slipway::bench {

/// A list with a member for each function: "name" and "samplers". Each sampler has "name", "ask_wall_ms", "ask_cpu_ms",
/// "total_cpu_s" and "marks". Each mark has:
/// - "evaluations", "q25", "median", "q75"; and "goal" where one is set.
/// - "evaluations_to_goal": median over the searches, of any number of evaluations. Null where half of them never
///   reached the goal. Missing where a file of peers is too old to say.
/// - "evaluations_as_good", "evaluations_of_first": the same for another goal, only of later sides and at marks in the
///   first half of a search. That goal is the median regret of the first side with this sampler at the mark, at least
///   1e-7. For an even number of searches it is the upper median.
/// - "better_than", "worse_than": {peer: p} of Mann and Whitney's one-sided test; only of our samplers.
Json Compare(const CampaignPlan& plan, const CampaignResults& results);

/// For each of our samplers at each mark: {"sampler", "evaluations", "functions", "beside_peers" (whether there were
/// any), and numbers of functions: "better_than_default", "better_than_best", "worse_than_best", "goals_reached",
/// "goals"}. Better and worse mean p < 0.05; the best peer is the one with the best median.
Json Summary(const Json& comparison);

/// What open trials cost: a row for each side whose sampler an earlier side has, too.
/// - "sampler", and "beside": the first side with that sampler.
/// - "to_goals": ratios of "evaluations_to_goal".
/// - "to_be_as_good": ratios of "evaluations_as_good" to "evaluations_of_first".
/// Ratios are given as {"count", "least", "median", "most", "missed"}. "missed" counts those where one of the two never
/// reached the goal.
Json CostOfOpenTrials(const Json& comparison);

void PrintComparison(const Json& comparison);
void PrintSummary(const Json& summary);
void PrintCostOfOpenTrials(const Json& costs);

}  // namespace slipway::bench
