/// The job step that starts one agent on each node. Pure.
#pragma once

#include <string>
#include <vector>

namespace slipway::launcher {

/// The srun command line that runs `command` once on each of `nodes` nodes. The step shares the nodes with other steps,
/// and continues when a node fails.
std::vector<std::string> AgentStepWords(int nodes, const std::vector<std::string>& command);

/// The options that Open MPI's mpirun adds to the srun of its daemons, so that they run beside the agents.
std::string DaemonStepOptions();

}  // namespace slipway::launcher
