/// Checks, for unusual pairs of MPI and starter, that the ranks of a run find each other.
#pragma once

#include <string>

#include "launcher/ranks/local/mpi_launcher.h"

namespace slipway::launcher {

/// Starts two ranks to check that srun and this MPI work together. If they do not, every rank believes to be alone:
/// each trains its own model, and the run succeeds. Only pairs are checked for which this MPI is not usually built.
/// Call it within a job. Cost: nothing for the usual pairs; a second for the others, at most kStartLimit.
/// Returns a warning when no libslipway for this MPI exists, so that no check is possible; else nothing.
/// Errors: Error(kEnvironment) naming both, the outcome and what to set.
std::string CheckPairing(const MpiLauncher& launcher);

}  // namespace slipway::launcher
