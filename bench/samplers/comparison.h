/// What the results say: medians, quartiles, who is better than whom, and which goals are reached.
#pragma once

#include "bench/samplers/campaign.h"
#include "core/json.h"

namespace slipway::bench {

/// A list with a member for each function: "name", "samplers": a list of {"name", "ask_wall_ms", "ask_cpu_ms",
/// "total_cpu_s", "marks": a list of {"evaluations", "q25", "median", "q75", "goal" (where one is set),
/// "evaluations_to_goal" (median over the searches, of however many evaluations; null where half never came to it; not
/// where a file of peers is too old to tell),
/// "evaluations_as_good", "evaluations_of_first" (the same for the median that the first side with this sampler has at
/// the mark, of an even number of searches the upper one, 1e-7 at the least; of a later side, at marks in the first
/// half of a search), "better_than": {peer: p}, "worse_than": {peer: p}}}. p: of Mann and Whitney's one-sided test;
/// only of our samplers.
Json Compare(const CampaignPlan& plan, const CampaignResults& results);

/// For each of our samplers at each mark: {"sampler", "evaluations", "functions", "beside_peers" (whether there were
/// any), "better_than_default", "better_than_best", "worse_than_best", "goals_reached", "goals"}: numbers of functions;
/// better and worse with p < 0.05, the best peer by its median.
Json Summary(const Json& comparison);

/// What open trials cost: for each side whose sampler an earlier side has, too, {"sampler", "beside" (the first of
/// those), "to_goals", "to_be_as_good"}: of the ratios of "evaluations_to_goal", and of "evaluations_as_good" to
/// "evaluations_of_first", {"count", "least", "median", "most", "missed" (one of the two never comes to it)}.
Json CostOfOpenTrials(const Json& comparison);

void PrintComparison(const Json& comparison);
void PrintSummary(const Json& summary);
void PrintCostOfOpenTrials(const Json& costs);

}  // namespace slipway::bench
