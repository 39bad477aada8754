/// Detects a copy of a run folder whose run is still active elsewhere: it names processes that are not its own.
#pragma once

#include <string>

#include "launcher/run_folder/run_state.h"

namespace slipway::launcher {

/// Checks that the manager in the stored state of run `id` is not active. Call it right after taking the manager's
/// lock: an active manager then uses another folder. Errors: Error(kBusy) naming that folder.
void RequireNoManagerElsewhere(const RunState& state, const std::string& id);

}  // namespace slipway::launcher
