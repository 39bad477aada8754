/// Detects a copy of a run folder whose run is still active elsewhere: it names processes that are not its own.
#pragma once

#include <filesystem>
#include <string>

#include "launcher/run_folder/run_state.h"

namespace slipway::launcher {

/// Checks that the manager in the stored state of run `id` is not active. Call it right after taking the manager's
/// lock: an active manager then uses another folder. Errors: Error(kBusy) naming that folder.
void RequireNoManagerElsewhere(const RunState& state, const std::string& id);

/// Checks that the manager in the state that was read from `folder` has not the lock of another folder: a copy names
/// the manager of its original. Call it before that process is signalled or waited for. Passes where nothing is known:
/// the run has not begun, or the process is gone, on another host, or may not be looked at, or its folder has another
/// path in its container. Cost: a look at each of its open files. Errors: Error(kBusy) naming the other folder.
void RequireManagerHere(const RunState& state, const std::filesystem::path& folder);

}  // namespace slipway::launcher
