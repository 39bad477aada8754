/// Collects the facts of a run for `slipway explain` and the reports.
#pragma once

#include "launcher/view/run_facts.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

/// Reads the run folder, and asks the batch system about the run's job, even an ended one. Damaged parts and missing
/// answers are left out: an incomplete explanation is better than an error.
/// Cost: some small files, the ends of logs, and for a batch job one request to the controller. Each failed trial costs
/// a query. Each kind of failure costs the end of a log. If its trial lacks the objective, the whole log and the
/// metrics are read, too.
/// Errors: those of RunFolder::ReadState.
RunFacts GatherFacts(const RunFolder& folder);
/// The same from the folder alone: the batch system is not asked.
RunFacts GatherStoredFacts(const RunFolder& folder);

}  // namespace slipway::launcher
