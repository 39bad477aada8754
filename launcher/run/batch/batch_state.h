/// The state of a run in a batch job: its stored state, corrected by the state of the job. Pure.
#pragma once

#include <optional>
#include <string>

#include "launcher/cluster/slurm_types.h"
#include "launcher/run_folder/run_state.h"

namespace slipway::launcher {

/// Corrects a stored state; that of an ended run stays. A run whose job waits is `queued`, with the reason in words. If
/// the job ended and its manager recorded no end, the run is cancelled, failed or lost, with Slurm's reason. `job`:
/// nothing when the controller no longer knows it. `selector`: how advised commands name a run that waits; empty: by
/// its id.
RunState WithJob(RunState stored, const std::optional<SlurmJob>& job, const std::string& selector = {});

/// The state of an ended run whose job still copies results out of the burst buffer.
RunState WhileStagingOut(RunState ended, const SlurmJob& job);

/// The state of an ended run whose results did not all come out of the burst buffer; `reason` is Slurm's.
RunState WithLostResults(RunState ended, JobId job, const std::string& reason);

}  // namespace slipway::launcher
