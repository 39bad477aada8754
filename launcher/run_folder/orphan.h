/// Ends processes that an earlier manager left running.
#pragma once

#include <chrono>

#include "core/output.h"
#include "core/process.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

/// A supervisor needs the grace time of its programs, and a moment more to end and record them.
inline constexpr std::chrono::seconds kGraceOfOrphan{7};

/// Ends the process group led by exactly this process, if it still runs: SIGTERM, then SIGKILL after `grace`. Returns
/// when it is gone. For programs that go on without their manager.
void EndOrphan(const ProcessIdentity& leader, std::chrono::nanoseconds grace = kGraceOfOrphan);

/// The same for the starter of ranks (mpirun, a shim, a supervisor), whose shims end them because their manager is
/// gone. Waits up to `grace` for that, and says so. A signal would end the shims before their ranks have saved, and
/// nothing would end what the ranks have started. Only what is still there after `grace` is ended as by EndOrphan.
void EndOrphanedRanks(const ProcessIdentity& starter, Output& output, std::chrono::nanoseconds grace = kGraceOfOrphan);

/// The same for all ranks of the run and of its trials. The caller holds the manager's lock. Errors: those of the trial
/// book.
void EndOrphans(const RunFolder& folder, Output& output);

}  // namespace slipway::launcher
