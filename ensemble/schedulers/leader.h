/// The leading trial, for schedulers that compare trials at rungs.
#pragma once

#include <optional>

#include "ensemble/model/trial_runner.h"

namespace slipway::ensemble {

/// A paused trial that ranks first at the highest rung that any trial has entered.
struct Leader {
  TrialNumber trial = 0;
  double reached = 0;  ///< the resource of its last report
  double end = 0;      ///< the resource of a whole trial
  bool operator==(const Leader&) const = default;
};

/// Implemented by schedulers that know their leader.
class KnowsLeader {
 public:
  virtual ~KnowsLeader() = default;

  /// The leader if it is paused. Nothing: it has gone on, or the resource of a whole trial is not known.
  virtual std::optional<Leader> PausedLeader() const = 0;
  /// The leader goes on now, before those that Promote would return: it counts as claimed.
  virtual void GoOn(const Leader& leader) = 0;
  /// The resource of the trial's last report; 0 before the first.
  virtual double Reached(TrialNumber trial) const = 0;
};

}  // namespace slipway::ensemble
