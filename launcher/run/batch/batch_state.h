/// What a run is doing whose manager lives in a batch job: its own state, corrected by what the batch system knows.
/// Pure.
#pragma once

#include <optional>

#include "launcher/cluster/slurm_types.h"
#include "launcher/run_folder/run_state.h"

namespace slipway::launcher {

/// A run that has ended stays as it is. One that waits is `queued`, with the reason in words; one whose job has ended
/// without its manager's last word is cancelled, failed or lost, with what Slurm says about it. `job`: nothing when
/// the controller does not know it any more.
RunState WithJob(RunState stored, const std::optional<SlurmJob>& job);

/// A run that has ended, and whose job still copies results out of the burst buffer.
RunState WhileStagingOut(RunState ended, const SlurmJob& job);

/// A run that has ended, and whose results did not all come out of the burst buffer; `reason` is Slurm's.
RunState WithLostResults(RunState ended, JobId job, const std::string& reason);

}  // namespace slipway::launcher
