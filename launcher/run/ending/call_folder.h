/// The folder `.call-NAME-*` of a job that was launched from Python. It has the function, the arguments and the spec.
#pragma once

#include "launcher/plan/plan.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

/// Removes the folder of a call beside a run that has succeeded. Only starts of the job read it. While trials are left
/// that may run again, it stays. Changes nothing for other runs.
void RemoveCallFolder(const RunFolder& folder, const Plan& plan);

}  // namespace slipway::launcher
