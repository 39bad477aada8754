/// What runs in the Slurm job of a step: `slipway workflow step RUN STEP`.
#pragma once

#include <string>

#include "core/output.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

/// Carries the step out, once: a job that was queued again after its result was published does nothing. The results of
/// the steps before are read from their journals. Returns what the job exits with: 0 when the step is done, reused or
/// skipped; only then jobs start that depend on it.
///
/// The step's lock is held all the time, so a second job of the step waits for the first and then finds its result.
/// Without a request to cancel, a job that is ended from outside records no end: Slurm says whether it runs again.
/// Errors: Error(kUsage) when the run has no such step; SystemError.
int CarryOutStepJob(const RunFolder& folder, const std::string& step, Output& output);

}  // namespace slipway::launcher
