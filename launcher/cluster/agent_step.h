/// The step of a job that puts one agent on each of its nodes. Pure.
#pragma once

#include <string>
#include <vector>

namespace slipway::launcher {

/// The words that start `command` once on each of `nodes` nodes: beside everything else that runs there, and going on
/// when a node fails.
std::vector<std::string> AgentStepWords(int nodes, const std::vector<std::string>& command);

/// What Open MPI's mpirun is to add to the srun that starts its daemons: they run beside the agents.
std::string DaemonStepOptions();

}  // namespace slipway::launcher
