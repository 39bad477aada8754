/// Runs whose manager lives in a batch job: submitted, looked at, ended and queued again.
#pragma once

#include <cstdint>
#include <optional>

#include "core/units.h"
#include "launcher/plan/plan.h"
#include "launcher/run/run_folder.h"

namespace slipway::launcher {

/// The batch job that this process runs in; 0: none.
std::uint32_t OwnBatchJob();

/// Errors: SlurmError when no controller answers. Cost: a question to the controller.
void RequireBatchSystem();

/// Writes job.sh and what it needs into `folder` and submits it. The run is `queued` before the job can begin.
/// Returns the job's number. Errors: Error(kUsage) for what no partition can take; SlurmError. The run has then failed,
/// with the reason.
std::uint32_t SubmitBatchRun(const RunFolder& folder, const Plan& plan);

/// The state as stored, corrected by what the batch system says about its job. A controller that does not answer leaves
/// it as it is, with that in the reason.
/// Cost: without a job that of ReadState, else a question to the controller.
RunState ObserveRun(const RunFolder& folder);

/// True when the run was submitted and has not ended.
bool IsInBatchSystem(const RunFolder& folder, const RunState& state);

/// As WaitForEnd, for a run in the batch system: its folder is looked at every second, the controller ever less often.
std::optional<RunState> WaitForBatchEnd(const RunFolder& folder, std::optional<Seconds> limit);

/// Ends the run: a job that waits is removed, one that runs is asked to end as by Ctrl-C.
void CancelBatchRun(const RunFolder& folder, const RunState& state);

/// Puts the job that this manager runs in back into the queue. It is ended by that.
void RequeueBatchJob(const RunState& state);

}  // namespace slipway::launcher
