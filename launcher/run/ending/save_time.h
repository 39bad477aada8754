/// How long the ranks of a run take to save, from the times of their checkpoints.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "core/units.h"
#include "ensemble/model/trial_runner.h"
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

/// The longest time of any checkpoint that was seen among an ensemble's trials.
class SlowestOfTrials {
 public:
  using PlaceOf = std::function<AttemptPlace(ensemble::TrialNumber)>;

  /// Examines some of the running trials, in rising order, and the others in later calls. Thousands of trials must not
  /// keep a file system busy.
  std::optional<Seconds> Look(const std::vector<ensemble::TrialNumber>& running, const PlaceOf& place_of);

 private:
  std::optional<Seconds> slowest_;
  ensemble::TrialNumber next_ = 0;  ///< the next to examine, or the first after it
};

}  // namespace slipway::launcher
