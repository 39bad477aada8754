/// The manager of a run: stages, launches, watches, and writes down how it ended.
#pragma once

#include "core/output.h"
#include "launcher/monitor/rank_line.h"
#include "launcher/plan/plan.h"
#include "launcher/run/run_folder.h"

namespace slipway::launcher {

/// Carries `plan` out in `folder`, to its end; leaves nothing running. Returns the exit code of the outcome.
/// Errors: Error(kBusy) when the run has a manager; what staging or launching throws, after writing it down.
int ManageRun(const RunFolder& folder, const Plan& plan, Output& output, LinePrefix prefix);

}  // namespace slipway::launcher
