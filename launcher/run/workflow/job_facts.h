/// What decides how steps become Slurm jobs: earlier results, and the cluster.
#pragma once

#include "launcher/cluster/slurm_client.h"
#include "launcher/run/workflow/result_store.h"
#include "launcher/workflow/step_jobs.h"

namespace slipway::launcher {

/// All steps are open. Without a controller that answers, the node stays unknown.
/// Cost: reads a small file a step and asks the controller twice, where there is a choice at all.
JobFacts FactsOf(const Workflow& workflow, const ResultStore& store, const SlurmClient& slurm);

/// The fewest cores, the least memory of the nodes that may get jobs, and the fewest GPUs of those that have some.
/// Nothing: there is no node. Pure.
std::optional<NodeSize> SmallestOf(const std::vector<SlurmNode>& nodes);

}  // namespace slipway::launcher
