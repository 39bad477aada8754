/// Ends, forgets or requeues the job of a run in the batch system.
#pragma once

#include "core/output.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

/// kAsk: in order, as by Ctrl-C. kKill: manager and ranks at once; none of them can write anything more.
enum class JobEnd { kAsk, kKill };

/// Ends the run. A waiting job is removed, a running one is ended according to `how`, an ending one is left alone.
void CancelBatchRun(const RunFolder& folder, const RunState& state, JobEnd how = JobEnd::kAsk);

/// Deletes what is known of the old job of a submitted run that continues in this process, outside of a job. Does
/// nothing for a run that was never submitted.
void ForgetBatchJob(const RunFolder& folder);

/// Requeues the job that this manager runs in, which ends the manager. While Slurm does not answer, it prints that and
/// tries again. Errors: SlurmError.
void RequeueBatchJob(const RunFolder& folder, const RunState& state, Output& output);

}  // namespace slipway::launcher
