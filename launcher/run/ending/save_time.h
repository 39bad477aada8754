/// How long the ranks of a run take to save, from the times of their checkpoints.
#pragma once

#include <optional>

#include "core/units.h"
#include "launcher/plan/plan.h"

namespace slipway::launcher {

/// The largest result of ForTheManager.
inline constexpr Seconds kLongestForTheManager{30};

/// The longest time among the kept checkpoints, from their manifests; nothing where no manifest has it. Cost: reads the
/// manifests.
std::optional<Seconds> SlowestCheckpoint(const AttemptPlace& place);

/// The time that the ranks get to save: twice the time of the slowest checkpoint. The rest covers the current step, and
/// a file system that is busier then. Pure.
Seconds TimeToSave(Seconds slowest);

/// The time that the ranks get at a time limit: TimeToSave, or Slurm's signal lead in the spec if that is longer. It is
/// limited to `left`, the time left in the job, minus the manager's share. 0: no time is known, or none is left.
Seconds TimeAtLimit(const Plan& plan, const AttemptPlace& place, std::optional<Seconds> left = {});

/// The part of the time left in a job that the manager needs at its end. The ranks end, results are copied out, and the
/// job is requeued in it. At most half of it. Pure.
Seconds ForTheManager(Seconds left);

}  // namespace slipway::launcher
