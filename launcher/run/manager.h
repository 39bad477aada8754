/// The manager of a run: stages, launches, watches, and writes down how it ended.
#pragma once

#include "core/output.h"
#include "launcher/plan/plan.h"
#include "launcher/ranks/monitor/rank_line.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

/// Carries `plan` out in `folder`, to its end; leaves nothing running. Returns the exit code of the outcome. `lock` is
/// RunFolder::TakeManagerLock(): what was read before it was taken may be what another manager has changed.
/// Errors: what staging or launching throws, after writing it down.
int ManageRun(const RunFolder& folder, FileLock lock, const Plan& plan, Output& output, LinePrefix prefix);

}  // namespace slipway::launcher
