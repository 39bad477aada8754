/// The budget of an ensemble in time, and the meter of what it has used.
#pragma once

#include <optional>

#include "ensemble/model/records.h"

namespace slipway::ensemble {

/// Limits in addition to the number of trials.
struct Budget {
  std::optional<double> wall_seconds = {};  ///< of all managers together
  std::optional<double> node_seconds = {};  ///< of all attempts together, lost ones included
};

/// Counts what is used. Times are seconds of one clock of the caller.
class Meter {
 public:
  /// `used`: by earlier managers. `now`: the begin of this manager.
  Meter(const Budget& budget, const Usage& used, double now) : budget_(budget), used_(used), begun_(now), last_(now) {}

  /// From now on `nodes` more are in use; fewer if negative.
  void AddNodes(int nodes, double now);
  /// Adds node-seconds of a time that was not counted.
  void Charge(double node_seconds) { used_.node_seconds += node_seconds; }
  /// Sets the node-seconds used; from now on no node is in use.
  void Restart(double node_seconds, double now);

  bool IsOver(double now) const { return SecondsLeft(now) <= 0; }
  /// Seconds until the budget is used up if nothing changes; infinite without a budget.
  double SecondsLeft(double now) const;
  Usage Used(double now) const;

 private:
  Budget budget_;
  Usage used_;  // node-seconds up to last_; wall time of earlier managers
  double begun_;
  double last_;
  int nodes_ = 0;
};

}  // namespace slipway::ensemble
