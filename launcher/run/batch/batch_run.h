/// A run in the batch system is ended, taken back or queued again.
#pragma once

#include "core/output.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

/// kAsk: as by Ctrl-C, in order. kKill: at once, manager and ranks; nobody has a last word.
enum class JobEnd { kAsk, kKill };

/// Ends the run: a job that waits is removed, one that runs is ended as `how` says, one that ends is left alone.
void CancelBatchRun(const RunFolder& folder, const RunState& state, JobEnd how = JobEnd::kAsk);

/// Before a run that was submitted once goes on in this process, in no job of its own: what is known of the old job
/// counts no more. Changes nothing for a run that never was.
void ForgetBatchJob(const RunFolder& folder);

/// Puts the job that this manager runs in back into the queue. It is ended by that. While Slurm does not answer it says
/// so and tries again. Errors: SlurmError.
void RequeueBatchJob(const RunFolder& folder, const RunState& state, Output& output);

}  // namespace slipway::launcher
