/// Whether the batch job that a manager wakes up in is the one that carries out its run. After a submission whose
/// answer was lost, or when somebody submits job.sh by hand, there may be two.
#pragma once

#include "launcher/engines/slurm/slurm_types.h"
#include "launcher/run/batch/batch_record.h"
#include "launcher/run/folder/run_folder.h"

namespace slipway::launcher {

/// The job that the run belongs to, if that is not `own`; else 0. Pure.
JobId OtherJobOf(const RunState& state, const BatchRecord& record, JobId own);

/// Errors: Error(kBusy) naming the other job, if it has not ended. Cost: a question to the controller where there is
/// another.
void RequireTurn(const RunFolder& folder, JobId own);

/// True when somebody wanted the run to end before its job had a number: it is cancelled now.
bool CancelledBeforeItsJob(const RunFolder& folder);

}  // namespace slipway::launcher
