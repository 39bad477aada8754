/// Checks that the batch job of a manager is the one that carries out its run. There may be two after a submission
/// whose answer was lost, or after a user submits job.sh by hand.
#pragma once

#include <optional>

#include "launcher/cluster/job_identity.h"
#include "launcher/cluster/slurm_types.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

/// The job of the run, by its state or its submission, if it is not `own`. Pure.
std::optional<JobIdentity> OtherJobOf(const JobIdentity& managed, const JobIdentity& submitted, const JobIdentity& own);

/// Whether the run was cancelled after a job was submitted, or at once. `observed`: its state, as Slurm sees it too.
/// True when one of the times is unknown. Pure.
bool IsCancelledSince(const RunState& observed, std::optional<SlurmTime> submitted);

/// Checks that no other job carries out the run, and that the run was not cancelled in another job after `own` was
/// submitted. Errors: Error(kBusy) naming the other job, if it has not ended, or the cancellation; SlurmError. Cost:
/// some requests to the controller when there is another job.
void RequireTurn(const RunFolder& folder, const JobIdentity& own);

/// True when the run was cancelled before its job had a number; enters the state `cancelled` now.
bool CancelledBeforeItsJob(const RunFolder& folder);

}  // namespace slipway::launcher
