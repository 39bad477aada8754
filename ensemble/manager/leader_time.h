/// Decides when the paused leader of a scheduler goes on, to reach its end in the time that is left.
#pragma once

#include <map>
#include <optional>

#include "ensemble/schedulers/leader.h"
#include "ensemble/schedulers/scheduler.h"

namespace slipway::ensemble {

/// Measures how long a unit of the scheduler's resource takes, from attempts that have ended, their starts included.
class LeaderTime {
 public:
  /// `scheduler` must outlive it. A scheduler that is no KnowsLeader has no leader.
  explicit LeaderTime(Scheduler& scheduler) : scheduler_(dynamic_cast<KnowsLeader*>(&scheduler)) {}

  /// An attempt begins; it ends after `seconds`.
  void Begin(TrialNumber trial);
  void End(TrialNumber trial, double seconds);

  /// The paused leader, if there is one.
  std::optional<Leader> Paused() const;
  /// The trial of the leader, if it must go on now to reach its end in `seconds_left`. Nothing: it can still wait for
  /// another attempt to end, it is too late already, or its time is not known.
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
