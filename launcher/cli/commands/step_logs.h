/// `slipway logs` of the run of a workflow: what its steps printed.
#pragma once

#include <string>

#include "launcher/cli/commands/logs.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

/// Prints the log of a step; `step` empty: of all, one after the other. With `follow`, prints lines as they arrive
/// until the step, or the run, has ended; those of several steps have "[step] " in front. JSON:
/// `slipway.workflow.logs/1`, or with `follow` an object for each line. Errors: Error(kUsage) for a step that the
/// workflow does not have, and for options of ranks and trials.
int StepLogs(const RunFolder& folder, const std::string& step, const LogsOptions& options, Session& session);

}  // namespace slipway::launcher
