/// Waits for the end of a run in the batch system.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "core/units.h"
#include "launcher/run/batch/batch_observation.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

/// Sleeps at most `longest`; false: stop waiting.
using Pause = std::function<bool(std::chrono::nanoseconds longest)>;
bool SleepOn(std::chrono::nanoseconds longest);

/// The state of a run as its folder and the controller have it.
using Observe = std::function<RunState(const RunFolder& folder)>;

/// As WaitForEnd, for a run in the batch system. Reads its folder up to ten times a second, and at least once a second.
/// Observes it with the controller less often as time passes. Nothing also when `pause` ends the waiting.
std::optional<RunState> WaitForBatchEnd(const RunFolder& folder, std::optional<Seconds> limit,
                                        const Pause& pause = SleepOn, const Observe& observe = ObserveRun);

}  // namespace slipway::launcher
