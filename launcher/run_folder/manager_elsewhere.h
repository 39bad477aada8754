/// A folder that was copied while its run was at work names processes that are not its own.
#pragma once

#include <string>

#include "launcher/run_folder/run_state.h"

namespace slipway::launcher {

/// For who has just taken the manager's lock of the run `id` with this stored state: its manager cannot be at work in
/// the same folder. Errors: Error(kBusy) naming the folder that it works on.
void RequireNoManagerElsewhere(const RunState& state, const std::string& id);

}  // namespace slipway::launcher
