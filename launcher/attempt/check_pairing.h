/// Whether the ranks of a run will find each other, where that is in doubt.
#pragma once

#include <string>

#include "launcher/ranks/local/mpi_launcher.h"

namespace slipway::launcher {

/// An MPI that srun does not reach lets every rank believe to be alone: each would train a model of its own, and the
/// run would end well. So where an interface is asked for that this MPI is not usually built for, two ranks are started
/// first. Within a job. Cost: nothing for the usual ways; a second for the others, at most kStartLimit.
/// Returns a warning when they cannot be tried: there is no libslipway for this MPI; else nothing.
/// Errors: Error(kEnvironment) naming both, what came of it and what to set.
std::string CheckPairing(const MpiLauncher& launcher);

}  // namespace slipway::launcher
