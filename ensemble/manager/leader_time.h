/// When the paused leader of a scheduler goes on, so that it comes to its end in the time that is left.
#pragma once

#include <map>
#include <optional>

#include "ensemble/schedulers/leader.h"
#include "ensemble/schedulers/scheduler.h"

namespace slipway::ensemble {

/// Learns from attempts that have ended how long a unit of the scheduler's resource takes, their starts included.
class LeaderTime {
 public:
  /// `scheduler` must outlive it; one that knows no leader has none.
  explicit LeaderTime(Scheduler& scheduler) : scheduler_(dynamic_cast<KnowsLeader*>(&scheduler)) {}

  /// An attempt begins, or ends after `seconds`.
  void Begin(TrialNumber trial);
  void End(TrialNumber trial, double seconds);

  /// The leader that waits, if there is one.
  std::optional<Leader> Paused() const;
  /// The leader goes on when it would come to its end in `seconds_left`, but not if it waited for another attempt to
  /// end first. Nothing while it is not known how long it takes, and where it is too late.
  std::optional<TrialNumber> GoOn(double seconds_left);

 private:
  bool HasCome(const Leader& leader, double seconds_left) const;

  KnowsLeader* scheduler_;
  std::map<TrialNumber, double> begun_;
  double seconds_ = 0;
  double resource_ = 0;
  double longest_ = 0;  ///< attempt, in seconds
};

}  // namespace slipway::ensemble
