/// Datasets that directives stage before the job begins: recorded at the submission, adopted in the job.
#pragma once

#include "launcher/plan/plan.h"
#include "launcher/run_folder/run_folder.h"
#include "staging/copy/copier.h"

namespace slipway::launcher {

/// Writes their names, and the present state of their sources, to staged_in.json of the run folder. Without such
/// datasets it removes the file of an earlier submission.
void RecordStagedIn(const RunFolder& folder, const Plan& plan);

/// The files that directives have put into the buffer for this dataset; with an empty directory if there are none. A
/// recorded directory that is missing is returned all the same, so that staging names it.
staging::FoundFiles FoundFor(const RunFolder& folder, const staging::StagingPlan& dataset);

/// Removes the folder that directives staged into, if it is empty after the datasets were adopted. A buffer may outlive
/// its jobs.
void RemoveEmptyStagedIn();

}  // namespace slipway::launcher
