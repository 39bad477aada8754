/// The job step that starts one agent on each node. Pure.
#pragma once

#include <string>
#include <vector>

#include "core/environment.h"

namespace slipway::launcher {

/// The srun command line that runs `command` once on each of `nodes` nodes. The step shares the nodes with other steps,
/// and continues when a node fails.
std::vector<std::string> AgentStepWords(int nodes, const std::vector<std::string>& command);

/// The options that Open MPI's mpirun adds to the srun of its daemons, so that they run beside the agents.
std::string DaemonStepOptions();

/// The variables for the srun of a step whose tasks each see all GPUs of their node. A step copies the request of its
/// job: with GPUs for each task, or for the job as a whole, a step of one task on each node would see one of them. And
/// it copies the binding of tasks to GPUs: a task that sees its own GPU alone cannot open memory of the others by CUDA
/// IPC. Changes nothing where nodes may have different numbers of GPUs. Source: _copy_job_tres_to_step of Slurm;
/// tests/slurm/gpus_test.py with Slurm 22.05.
void RequestGpusOfNodes(Environment& environment);

}  // namespace slipway::launcher
