/// Whether the batch job that a manager wakes up in is the one that carries out its run. After a submission whose
/// answer was lost, or when somebody submits job.sh by hand, there may be two.
#pragma once

#include <optional>

#include "launcher/cluster/job_identity.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

/// The job that the run belongs to, by its state or by what was submitted, if that is not `own`. Pure.
std::optional<JobIdentity> OtherJobOf(const JobIdentity& managed, const JobIdentity& submitted, const JobIdentity& own);

/// Errors: Error(kBusy) naming the other job, if it has not ended. Cost: a question to the controller where there is
/// another.
void RequireTurn(const RunFolder& folder, const JobIdentity& own);

/// True when somebody wanted the run to end before its job had a number: it is cancelled now.
bool CancelledBeforeItsJob(const RunFolder& folder);

}  // namespace slipway::launcher
