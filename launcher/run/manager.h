/// The manager of a run: stages, launches, watches, and records the end.
#pragma once

#include "core/output.h"
#include "launcher/plan/plan.h"
#include "launcher/ranks/monitor/rank_log.h"
#include "launcher/run/context/gpu_hold.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

/// Carries out `plan` in `folder` to its end; leaves nothing running. Returns the exit code of the outcome. `lock` is
/// RunFolder::TakeManagerLock(). Take it before reading the folder: another manager may have changed the folder before.
/// `gpus`: of a step of a workflow, TakeGivenGpuLocks().
/// Errors: what staging or launching throws, after recording it.
int ManageRun(const RunFolder& folder, FileLock lock, const Plan& plan, Output& output, LinePrefix prefix,
              GpuLocks gpus);

}  // namespace slipway::launcher
