/// How long the ranks of a run take to save, by the checkpoints that they have written.
#pragma once

#include <optional>

#include "core/units.h"
#include "launcher/plan/plan.h"

namespace slipway::launcher {

/// The most that ForTheManager answers.
inline constexpr Seconds kLongestForTheManager{30};

/// Of those that are kept, by what their manifests say; nothing where none says it. Cost: reads their manifests.
std::optional<Seconds> SlowestCheckpoint(const AttemptPlace& place);

/// What the ranks are given to save, when that is how long a checkpoint took: as much again for the step that they are
/// in, and for a file system that is busier then. Pure.
Seconds TimeToSave(Seconds slowest);

/// What they are given at a time limit: that, or what the spec says for Slurm if it is more; but not more than is `left`
/// of their job without what the manager needs at its end. 0: nothing is known.
Seconds TimeAtLimit(const Plan& plan, const AttemptPlace& place, std::optional<Seconds> left = {});

/// How much of the time that a job has left its manager needs: the ranks end, results are copied out, the job is queued
/// again. At most half of it. Pure.
Seconds ForTheManager(Seconds left);

}  // namespace slipway::launcher
