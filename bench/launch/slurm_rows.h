/// How fast things start under Slurm.
#pragma once

#include <vector>

#include "bench/launch/parts.h"

namespace slipway::bench {

/// Within an allocation: no-op trials through the agents of its nodes, beside steps of srun, eight in flight.
/// Elsewhere: from submission to the first allreduce of an MPI program, beside a script for sbatch that starts it by
/// srun.
/// Errors: Error when a side fails.
std::vector<Row> MeasureSlurm(Workplace& place);

}  // namespace slipway::bench
