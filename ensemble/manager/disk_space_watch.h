/// Watches whether the disk of the run is full.
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
  /// All arguments must outlive it. The observer hears when the disk becomes full, and when space is free again.
  DiskSpaceWatch(TrialRunner& runner, EnsembleObserver& observer, Clock& clock)
      : runner_(runner), observer_(observer), clock_(clock) {}

  /// Forgets what the round before saw. While the disk is full, looks again every 0.5 s.
  void BeginRound();
  /// Whether the disk was seen full at a moment while `attempt`, which has ended, ran.
  /// Cost: at most one look of each kind a round.
  bool WasMissingDuring(const LiveAttempt& attempt, DiskSpaceCheck check);
  /// The disk is full.
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
