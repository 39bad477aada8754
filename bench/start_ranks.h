/// How a benchmark becomes several ranks.
#pragma once

namespace slipway::bench {

/// Replaces this process by an mpirun that starts it `ranks` times, unless it is one of those ranks already. Returns
/// in a rank; ends the process with 3 when there is no mpirun of the MPI that it was built with.
void StartRanks(const char* benchmark, int ranks, int argc, char** argv);

}  // namespace slipway::bench
