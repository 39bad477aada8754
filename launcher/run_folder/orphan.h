/// Ends processes that an earlier manager left running.
#pragma once

#include <chrono>

#include "core/process.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

/// Ends the process group led by exactly this process, if it still runs: SIGTERM, then SIGKILL after `grace`. Ranks end
/// by themselves when their manager is gone; this waits for it and enforces it. Returns when it is gone. A supervisor
/// needs the grace time of its programs, and a moment more to end and record them.
void EndOrphan(const ProcessIdentity& leader, std::chrono::nanoseconds grace = std::chrono::seconds(7));

/// The same for all ranks of the run and of its trials. The caller holds the manager's lock. Errors: those of the trial
/// book.
void EndOrphans(const RunFolder& folder);

}  // namespace slipway::launcher
