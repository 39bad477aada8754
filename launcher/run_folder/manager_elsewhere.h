/// Managers that a run folder names: whether they have another folder, of which it is a copy, or are on another host.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "launcher/run_folder/run_state.h"

namespace slipway::launcher {

/// Checks that the manager in the stored state of a run is not active. Call it right after taking the manager's
/// lock: an active manager then uses another folder. Errors: Error(kBusy) naming that folder.
void RequireNoManagerElsewhere(const RunState& state);

/// That the manager in the state that is stored in `folder` has the lock of another folder instead: a copy names the
/// manager of its original. Nothing where that is not known: the run has not begun, or the process is gone, on another
/// host, or may not be looked at, or its folder has another path in its container. Cost: a look at each of its open
/// files.
std::optional<cause::ManagerElsewhere> FindManagerElsewhere(const RunState& state, const std::filesystem::path& folder);

/// Whether its manager is, or was, on another host.
bool IsOnOtherHost(const RunState& state);

/// Whether a process has the lock of the run's manager. Where locks count on one host only, a lock that is held on
/// another one looks free. Errors: SystemError. Cost: opens the lock file.
bool IsManagerLockHeld(const std::filesystem::path& folder);

/// Why the manager of a run that works, on another host, may be gone; empty where nothing says so. Slurm knows more of
/// a submitted run. `selector`: how the advised command finds the run. Cost: that of IsManagerLockHeld.
std::string DoubtManagerElsewhere(const RunState& state, const std::filesystem::path& folder,
                                  const std::string& selector);

/// Checks a state that RunFolder::ReadState returned. Call it before the manager is signalled or waited for. Errors:
/// Error(kBusy) naming the folder that the manager owns.
void RequireManagerHere(const RunState& state);

}  // namespace slipway::launcher
