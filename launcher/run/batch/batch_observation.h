/// What the batch system says about runs whose manager lives in a batch job.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/cluster/slurm_types.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

/// What is known of a run at this moment.
struct ObservedRun {
  RunState state;               ///< as stored, corrected by what the batch system says about its job
  std::optional<SlurmJob> job;  ///< of a run in the batch system, as its controller remembers it
  std::string trouble;          ///< why the batch system could not be asked; empty: it could, or there was no need
  JobId asked = 0;              ///< the job that it was to be asked about; 0: none
};

/// The state as it is shown: what is not known of its job is in the reason.
RunState Shown(ObservedRun observed);

/// In the order of `folders`. A controller that does not answer leaves a state as it is. A run
/// that has ended, but whose job still copies results out of the burst buffer, is `running`; results that did not
/// arrive are in its detail. Cost: that of ReadState for each, and one question to the controller for all runs of an
/// owner that are in the batch system; one whose submission was cut off, or whose job is not known any more, costs a
/// question of its own.
std::vector<ObservedRun> ObserveRuns(const std::vector<RunFolder>& folders);
/// Of one run, as it is shown.
RunState ObserveRun(const RunFolder& folder);

/// True when the run was submitted and has not ended, or its job may still be copying results out of its buffer.
bool IsInBatchSystem(const RunFolder& folder, const RunState& state);

}  // namespace slipway::launcher
