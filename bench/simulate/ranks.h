/// What one simulated rank does.
#pragma once

#include "bench/simulate/simulation.h"
#include "runtime/group/point_to_point.h"

namespace slipway::bench {

/// Combines job.bytes of float32 with the other ranks of MPI_COMM_WORLD. `data` is never touched. Of a hierarchical
/// choice the leaders alone are simulated; the work inside their nodes takes the time of moving its bytes.
/// Returns what this rank has sent.
runtime::Counters AllreduceAsRank(const Job& job, char* data, const std::vector<int>& job_ranks);

}  // namespace slipway::bench
