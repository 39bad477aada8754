/// What schedulers that compare trials at rungs can tell of the trial that leads.
#pragma once

#include <optional>

#include "ensemble/model/trial_runner.h"

namespace slipway::ensemble {

/// A paused trial that stands first at the highest rung that any trial has come to.
struct Leader {
  TrialNumber trial = 0;
  double reached = 0;  ///< the resource of its last report
  double end = 0;      ///< the resource of a whole trial
  bool operator==(const Leader&) const = default;
};

/// A scheduler may be one of these, too.
class KnowsLeader {
 public:
  virtual ~KnowsLeader() = default;

  /// Nothing: who leads has gone on, or nobody knows where a trial ends.
  virtual std::optional<Leader> PausedLeader() const = 0;
  /// It goes on now, before those that Promote would name: it counts as claimed.
  virtual void GoOn(const Leader& leader) = 0;
  /// The resource of the trial's last report; 0 before the first.
  virtual double Reached(TrialNumber trial) const = 0;
};

}  // namespace slipway::ensemble
