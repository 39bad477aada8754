/// Waiting for the end of a run in the batch system.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "core/units.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

/// Sleeps that long at most; false: the waiting is to end now.
using Pause = std::function<bool(std::chrono::nanoseconds longest)>;
bool SleepOn(std::chrono::nanoseconds longest);

/// As WaitForEnd, for a run in the batch system: its folder is looked at up to ten times a second, and at least once;
/// the controller ever less often. Nothing also when `pause` ends the waiting.
std::optional<RunState> WaitForBatchEnd(const RunFolder& folder, std::optional<Seconds> limit,
                                        const Pause& pause = SleepOn);

}  // namespace slipway::launcher
