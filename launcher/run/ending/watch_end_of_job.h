/// A run in a batch job is asked to end as early as its checkpoints take.
#pragma once

#include <memory>
#include <optional>

#include "launcher/run/context/run_context.h"
#include "launcher/run/ending/time_limit_watch.h"

namespace slipway::launcher {

/// Interrupts the run when there is as much time left in its job as saving takes, by what `slowest_checkpoint` knows of
/// that; the event `time_limit_near` has the figures. Null where the run is in no job. `context` must outlive it.
std::unique_ptr<TimeLimitWatch> WatchEndOfJob(RunContext& context,
                                              std::function<std::optional<Seconds>()> slowest_checkpoint);

/// What is left of the time of the job that the run is in, by what Slurm says; nothing: it is in none, or that is not
/// known. Cost: that of EndOfJob.
std::optional<Seconds> TimeLeftInJob(const RunContext& context);

}  // namespace slipway::launcher
