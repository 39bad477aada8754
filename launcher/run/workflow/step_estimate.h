/// What a workflow would read and cost, before it runs.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "launcher/run/workflow/step_reuse.h"

namespace slipway::launcher {

/// Of one step; medians over its last results, else over those of the other steps of its foreach.
struct CostEstimate {
  double seconds = 0;
  double core_hours = 0;
  double gpu_hours = 0;
  std::optional<double> node_hours = {};  ///< nothing: no result has the number of its nodes
  std::size_t results = 0;                ///< that it is made from
};

struct StepEstimate {
  std::uint64_t bytes = 0;                ///< of its inputs and data, as far as they exist
  bool has_all_inputs = true;             ///< false: some are yet to be made
  std::optional<CostEstimate> cost = {};  ///< nothing: no such step has run
};

/// Sums over the steps that run.
struct EstimateTotal {
  std::uint64_t bytes = 0;
  double core_hours = 0;
  double gpu_hours = 0;
  std::optional<double> node_hours = 0;  ///< nothing: of some step with a cost they are not known
  std::size_t steps_without_cost = 0;
};

/// All steps must have been decided. Errors: SystemError. Cost: reads one small file a step.
std::vector<StepEstimate> EstimateSteps(const Workflow& workflow, ResultStore& store, StepReuse& reuse);
/// What each step took, by its last results or those of its foreach; nothing: no such step has run.
std::vector<std::optional<Seconds>> TimesTaken(const Workflow& workflow, const ResultStore& store);
EstimateTotal TotalOf(const std::vector<StepEstimate>& steps, const StepReuse& reuse);

}  // namespace slipway::launcher
