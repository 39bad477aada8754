/// Writes provenance.json of a run folder.
#pragma once

#include "launcher/plan/plan.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

/// Records everything when the run begins; nothing with `provenance: off`. The file is readable by its owner only,
/// since a diff may hold secrets. A file that cannot be written is left out: the run matters more. Cost:
/// CollectProvenance.
void RecordProvenance(const RunFolder& folder, const Plan& plan);

/// For a manager: records the machine again if another one began the run, or if a batch job manages it now.
void RecordMachine(const RunFolder& folder, const Plan& plan, bool in_batch_job);

}  // namespace slipway::launcher
