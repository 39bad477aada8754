/// How much an ensemble may use, and when it has.
#pragma once

#include <optional>

#include "ensemble/model/records.h"

namespace slipway::ensemble {

/// Beside the number of trials.
struct Budget {
  std::optional<double> wall_seconds = {};  ///< of all managers together
  std::optional<double> node_seconds = {};  ///< of all attempts together, those that were lost included
};

/// Counts what is used. Times are seconds since 1970.
class Meter {
 public:
  /// `used`: by earlier managers. `now`: this one begins.
  Meter(const Budget& budget, const Usage& used, double now) : budget_(budget), used_(used), begun_(now), last_(now) {}

  /// From now on `nodes` more, or fewer, are in use.
  void AddNodes(int nodes, double now);
  /// Used up in a time that was not counted.
  void Charge(double node_seconds) { used_.node_seconds += node_seconds; }
  /// Nothing is in use, and so much has been used.
  void Restart(double node_seconds, double now);

  bool IsOver(double now) const { return SecondsLeft(now) <= 0; }
  /// Until the budget is used up if nothing changes; infinite without a budget.
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
