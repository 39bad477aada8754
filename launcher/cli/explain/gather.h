/// Looks for what there is to know of a run.
#pragma once

#include "launcher/cli/explain/facts.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

/// Reads the run folder, and asks the batch system about the run's job, also when it has ended. What is damaged or does
/// not answer is left out: an explanation of the rest is worth more than an error.
/// Cost: some small files, the ends of logs, a question to the controller for runs of batch jobs; with failed trials a
/// query for each, and of each way in which they failed the end of a log, and the metrics of one that reported nothing.
/// Errors: those of RunFolder::ReadState.
RunFacts GatherFacts(const RunFolder& folder);

}  // namespace slipway::launcher
