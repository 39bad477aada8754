/// Submits a run to Slurm; its manager will live in the job.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launcher/plan/plan.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

/// Checks that a controller answers. Errors: SlurmError. Cost: a request to the controller.
void RequireBatchSystem();

struct SubmittedRun {
  std::uint32_t job = 0;
  std::vector<std::string> doubts;  ///< of RequireAPartition: why the job may wait without end
};

/// Writes job.sh and its files into `folder` and submits it. The run is `queued` before the job can begin.
/// Errors: Error(kUsage) when no partition can take it; SlurmError. The run has then failed, with the
/// reason. If Slurm stops answering during the submission, the run stays `queued` and is observed.
SubmittedRun SubmitBatchRun(const RunFolder& folder, const Plan& plan);

}  // namespace slipway::launcher
