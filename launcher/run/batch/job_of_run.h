/// Which batch job a run has.
#pragma once

#include <optional>
#include <string>

#include "launcher/engines/slurm/slurm_client.h"
#include "launcher/engines/slurm/slurm_types.h"
#include "launcher/run/folder/run_folder.h"

namespace slipway::launcher {

/// The batch job that this process runs in; 0: none.
JobId OwnBatchJob();

/// As it is written down in the run folder; 0: nobody knows it, or there is none.
JobId JobOf(const RunFolder& folder, const RunState& state);

/// The one with this comment that has not ended: an answer that did not come may be that of a job that was submitted
/// all the same. An earlier job of the run may still be ending. Errors: SlurmError.
std::optional<JobId> FindSubmitted(const SlurmClient& slurm, const std::string& comment);

}  // namespace slipway::launcher
