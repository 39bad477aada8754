/// Waiting in the foreground for a run that a batch job carries out.
#pragma once

#include <string_view>

#include "launcher/cli/commands/session.h"
#include "launcher/ranks/monitor/rank_line.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

/// Prints what its ranks write, until the end of the run; returns its outcome. Ctrl-C asks on a terminal whether the
/// job is to end, too: a second Ctrl-C or `y` cancels it and waits for that, anything else, or no answer, leaves it
/// alone. Without a terminal it is left alone. Returns 130 for a run that goes on.
int FollowBatchRun(const RunFolder& folder, LinePrefix prefix, Session& session);

/// Whether an answer means yes. Pure.
bool MeansYes(std::string_view answer);

}  // namespace slipway::launcher
