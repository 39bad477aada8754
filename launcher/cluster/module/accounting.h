/// Jobs as the site's accounting, slurmdbd, remembers them: longer than the controller does.
#pragma once

#include <vector>

#include "launcher/cluster/slurm_types.h"

namespace slipway::launcher {

/// The last job of this number, if it has ended; none also where the site keeps no such accounting. Its reasons, flags
/// and comment are not known. Cost: a connection and a question to slurmdbd, which may take as long as it likes.
/// Errors: SlurmError when slurmdbd does not answer.
std::vector<SlurmJob> PastJobsOfNumber(JobId id);

}  // namespace slipway::launcher
