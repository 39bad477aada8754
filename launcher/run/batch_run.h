/// Runs whose manager lives in a batch job: submitted, looked at, ended and queued again.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/output.h"
#include "core/units.h"
#include "launcher/engines/slurm/slurm_types.h"
#include "launcher/plan/plan.h"
#include "launcher/run/run_folder.h"

namespace slipway::launcher {

/// The batch job that this process runs in; 0: none.
std::uint32_t OwnBatchJob();

/// Errors: SlurmError when no controller answers. Cost: a question to the controller.
void RequireBatchSystem();

/// Writes job.sh and what it needs into `folder` and submits it. The run is `queued` before the job can begin.
/// Returns the job's number. Errors: Error(kUsage) for what no partition can take; SlurmError. The run has then failed,
/// with the reason; but where Slurm fell silent in the middle it stays `queued`, and what becomes of it is observed.
std::uint32_t SubmitBatchRun(const RunFolder& folder, const Plan& plan);

/// What is known of a run at this moment.
struct ObservedRun {
  RunState state;               ///< as stored, corrected by what the batch system says about its job
  std::optional<SlurmJob> job;  ///< of a run in the batch system, as its controller remembers it
  std::string trouble;          ///< why the batch system could not be asked; empty: it could, or there was no need
};

/// In the order of `folders`. A controller that does not answer leaves a state as it is, with that in the reason. A run
/// that has ended, but whose job still copies results out of the burst buffer, is `running`; results that did not
/// arrive are in its detail. Cost: that of ReadState for each, and one question to the controller for all runs of an
/// owner that are in the batch system; one whose submission was cut off, or whose job is not known any more, costs a
/// question of its own.
std::vector<ObservedRun> ObserveRuns(const std::vector<RunFolder>& folders);
RunState ObserveRun(const RunFolder& folder);

/// True when the run was submitted and has not ended, or its job may still be copying results out of its buffer.
bool IsInBatchSystem(const RunFolder& folder, const RunState& state);

/// Sleeps that long at most; false: the waiting is to end now.
using Pause = std::function<bool(std::chrono::nanoseconds longest)>;
bool SleepOn(std::chrono::nanoseconds longest);

/// As WaitForEnd, for a run in the batch system: its folder is looked at every second, the controller ever less often.
/// Nothing also when `pause` ends the waiting.
std::optional<RunState> WaitForBatchEnd(const RunFolder& folder, std::optional<Seconds> limit,
                                        const Pause& pause = SleepOn);

/// Ends the run: a job that waits is removed, one that runs is asked to end as by Ctrl-C, one that ends is left alone.
void CancelBatchRun(const RunFolder& folder, const RunState& state);

/// Before a run that was submitted once goes on in this process, in no job of its own: what is known of the old job
/// counts no more. Changes nothing for a run that never was.
void ForgetBatchJob(const RunFolder& folder);

/// Puts the job that this manager runs in back into the queue. It is ended by that. While Slurm does not answer it says
/// so and tries again. Errors: SlurmError.
void RequeueBatchJob(const RunState& state, Output& output);

}  // namespace slipway::launcher
