/// The manager of a workflow: starts its steps as they become ready, publishes their results, records the end.
#pragma once

#include "core/output.h"
#include "launcher/run/workflow/workflow_folder.h"

namespace slipway::launcher {

/// Carries the workflow out in `folder`; leaves nothing running. A folder that was used before goes on: results that
/// are there stay, programs that a killed manager has left are ended first. Returns the exit code of the outcome.
/// `lock` is RunFolder::TakeManagerLock().
int ManageWorkflow(const RunFolder& folder, FileLock lock, const Workflow& workflow, const WorkflowOrder& order,
                   Output& output);

}  // namespace slipway::launcher
