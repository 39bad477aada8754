/// Datasets that the directives of a job stage before it begins: written down at the submission, taken up in the job.
#pragma once

#include "launcher/plan/plan.h"
#include "launcher/run_folder/run_folder.h"
#include "staging/copy/copier.h"

namespace slipway::launcher {

/// Writes which they are, and in which state their sources are now, to staged_in.json of the run folder; removes the
/// file of an earlier submission when there are none.
void RecordStagedIn(const RunFolder& folder, const Plan& plan);

/// Where the staging of this dataset finds what directives have put into the buffer; with an empty directory when that
/// is nothing. What is recorded and not there is looked for all the same, and so missed by name.
staging::FoundFiles FoundFor(const RunFolder& folder, const staging::StagingPlan& dataset);

/// When the datasets have been taken over: removes the folder that directives staged into, unless something else is in
/// it. A buffer may outlive its jobs.
void RemoveEmptyStagedIn();

}  // namespace slipway::launcher
