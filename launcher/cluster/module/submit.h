/// Handing a batch job over to Slurm.
#pragma once

#include "launcher/cluster/slurm_types.h"

namespace slipway::launcher {

/// One RPC. The job gets the variables that it would get from sbatch (SLURM_SUBMIT_DIR, SLURM_NTASKS, ...); resource
/// limits are those of the nodes' slurmd, not of this process.
Submission Submit(SubmitRequest request);

}  // namespace slipway::launcher
