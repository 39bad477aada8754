/// Whether the disk of the run has room, as far as the manager has looked.
#pragma once

#include <optional>
#include <string>

#include "core/clock.h"
#include "ensemble/manager/live_attempt.h"
#include "ensemble/manager/manager.h"
#include "ensemble/model/trial_runner.h"

namespace slipway::ensemble {

class DiskSpaceWatch {
 public:
  /// All must outlive it. The observer hears when the room is used up, and when there is some again.
  DiskSpaceWatch(TrialRunner& runner, EnsembleObserver& observer, Clock& clock)
      : runner_(runner), observer_(observer), clock_(clock) {}

  /// What was seen in the round before may have changed. While there is no room it is looked for, now and then.
  void BeginRound();
  /// An attempt has ended: whether room was missing at a moment since it began. Cost: at most one look a round.
  bool WasMissingDuring(const LiveAttempt& attempt, DiskSpaceCheck check);
  /// There is none.
  bool IsMissing() const { return !why_.empty(); }

 private:
  void Look(DiskSpaceCheck check);

  TrialRunner& runner_;
  EnsembleObserver& observer_;
  Clock& clock_;
  std::optional<DiskSpaceCheck> looked_;    // in this round
  std::optional<SteadyTime> last_missing_;  // when it was seen
  std::string why_;
};

}  // namespace slipway::ensemble
