/// Waits for or stops the manager of a run from another process.
#pragma once

#include <optional>

#include "core/units.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

/// Returns the state when the run has ended; nothing when `limit` passes first.
/// A manager on another host is lost once its lock is free after it was held.
/// Cost: sleeps in the kernel while the manager runs on this host; checks every second when it is elsewhere.
/// Errors: Error(kBusy) when `run` is a copy whose original is active.
std::optional<RunState> WaitForEnd(const RunFolder& run, std::optional<Seconds> limit);

/// Sends a signal to the manager in a state that RunFolder::ReadState returned, if it still runs. Errors:
/// Error(kEnvironment) when it lives on another host; Error(kBusy) when the state is that of a copy, and the manager is
/// that of its original.
void SignalManager(const RunState& state, int signal);
/// The same with SIGTERM.
void AskToStop(const RunState& state);

}  // namespace slipway::launcher
