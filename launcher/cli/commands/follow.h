/// Waits in the foreground for a run in a batch job.
#pragma once

#include <string_view>

#include "launcher/cli/commands/session.h"
#include "launcher/ranks/monitor/rank_log.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

/// Prints what the ranks write until the run ends; returns the run's outcome. On a terminal, Ctrl-C asks whether to
/// cancel the job. A second Ctrl-C or `y` cancels it and waits for its end. Any other answer, or none, leaves the job
/// running. Without a terminal, Ctrl-C leaves it running. Returns 130 for a run that still runs.
int FollowBatchRun(const RunFolder& folder, LinePrefix prefix, Session& session);

/// Whether an answer means yes. Pure.
bool MeansYes(std::string_view answer);

}  // namespace slipway::launcher
