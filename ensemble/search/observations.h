/// What samplers learn from: the trials of a study as places in the unit cube.
#pragma once

#include <string>
#include <vector>

#include "ensemble/search/encoding.h"
#include "ensemble/trial_table.h"

namespace slipway::ensemble {

struct Observation {
  TrialNumber trial = 0;
  Coordinates at;
  double value = 0;          ///< lower is better, whatever the study's goal
  std::vector<double> more;  ///< the further objectives of a study that has several, in its order; lower is better
  std::string origin = {};   ///< TrialRecord::origin
};

/// The rows as they stand, in the order of the trials' numbers: who ended first does not count, so that the same set of
/// results leads to the same ask.
struct Observations {
  std::vector<Observation> complete;
  std::vector<Coordinates> pending;  ///< queued, claimed, running or paused
  std::vector<Coordinates> failed;   ///< trials that gave no value
};

/// Keeps the coordinates of all trials and looks only at those that were not final before.
/// Cost: of `Update`, the trials that are new or were pending; memory, one Coordinates for each trial.
class ObservationLog {
 public:
  /// `encoding` must outlive the log.
  ObservationLog(const Encoding& encoding, Goal goal) : encoding_(encoding), goal_(goal) {}

  /// What is known of the trials before number `asked`.
  const Observations& Update(TrialNumber asked, const TrialTable& table);

 private:
  void Take(const TrialRecord& trial);

  const Encoding& encoding_;
  Goal goal_;
  Observations known_;
  std::vector<TrialNumber> open_;    // the trials of known_.pending
  std::vector<TrialNumber> failed_;  // those of known_.failed
  TrialNumber next_ = 0;
};

}  // namespace slipway::ensemble
