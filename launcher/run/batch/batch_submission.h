/// A run whose manager is to live in a batch job is handed to Slurm.
#pragma once

#include <cstdint>

#include "launcher/plan/plan.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

/// Errors: SlurmError when no controller answers. Cost: a question to the controller.
void RequireBatchSystem();

/// Writes job.sh and what it needs into `folder` and submits it. The run is `queued` before the job can begin.
/// Returns the job's number. Errors: Error(kUsage) for what no partition can take; SlurmError. The run has then failed,
/// with the reason; but where Slurm fell silent in the middle it stays `queued`, and what becomes of it is observed.
std::uint32_t SubmitBatchRun(const RunFolder& folder, const Plan& plan);

}  // namespace slipway::launcher
