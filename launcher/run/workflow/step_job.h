/// What runs in the Slurm job of steps: `slipway workflow step RUN STEP...`.
#pragma once

#include <string>
#include <vector>

#include "core/output.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

/// Carries the steps out, each once: a job that was queued again after a result was published does not make it again.
/// The results of the steps before are read from their journals. One step has all of its job; several share it, as many
/// at once as fit. Returns what the job exits with: 0 when all are done, reused or skipped.
///
/// The lock of a step is held until its end is written down, so a second job of the step waits for the first and then
/// finds its result. A step that fails stops those that need it and no others. Without a request to cancel, a job that
/// is ended from outside records no end of what it had not finished: Slurm says whether it runs again. Errors:
/// Error(kUsage) when the run has no such step; SystemError.
int CarryOutStepJob(const RunFolder& folder, const std::vector<std::string>& steps, Output& output);

/// The step of a foreach that this task of a job array carries out. `first_index`: of the step that is task 0.
/// Errors: Error(kUsage) outside of an array.
std::string StepOfArrayTask(const std::string& group, int first_index);

}  // namespace slipway::launcher
