/// Ends a run in a batch job early enough for its checkpoints.
#pragma once

#include <memory>
#include <optional>

#include "launcher/run/context/run_context.h"
#include "launcher/run/ending/time_limit_watch.h"

namespace slipway::launcher {

/// Interrupts the run when only the time for saving is left in its job, according to `slowest_checkpoint`. The event
/// `time_limit_near` has the figures. Null when the run is in no job. `context` must outlive it.
std::unique_ptr<TimeLimitWatch> WatchEndOfJob(RunContext& context,
                                              std::function<std::optional<Seconds>()> slowest_checkpoint);

/// The time left in the run's job, from Slurm; nothing: the run is in no job, or the time is unknown. Cost: that of
/// EndOfJob.
std::optional<Seconds> TimeLeftInJob(const RunContext& context);

}  // namespace slipway::launcher
