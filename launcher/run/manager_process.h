/// The process that manages a run, seen from other processes: wait for it, ask it to stop.
#pragma once

#include <optional>

#include "core/units.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

/// Returns the state once the run has ended; nothing when `limit` passes first.
/// Cost: sleeps in the kernel while the manager runs on this host; looks every second when it is elsewhere.
std::optional<RunState> WaitForEnd(const RunFolder& run, std::optional<Seconds> limit);

/// Sends SIGTERM to the manager. Errors: Error(kEnvironment) when it lives on another host.
void AskToStop(const RunState& state);

}  // namespace slipway::launcher
