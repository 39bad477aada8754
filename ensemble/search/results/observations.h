/// What samplers learn from: the trials of a study as places in the unit cube.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ensemble/search/cube/encoding.h"
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
  /// Trials with a value: a trial that pauses or was ended early counts with the last one it had.
  std::vector<Observation> complete;
  std::vector<Coordinates> pending;               ///< queued, claimed or running
  std::vector<Coordinates> failed;                ///< trials that gave no value
  std::vector<std::string> pending_origins = {};  ///< TrialRecord::origin of each pending trial
};

/// Keeps the coordinates of all trials and looks again only at those whose rows have changed.
/// Cost: of `Update`, one comparison for each trial that is not complete; memory, one Coordinates for each trial.
class ObservationLog {
 public:
  /// `encoding` must outlive the log. `further`: the goals of the further objectives.
  ObservationLog(const Encoding& encoding, Goal goal, std::vector<Goal> further = {})
      : encoding_(encoding), goal_(goal), further_(std::move(further)) {}

  /// What is known of the trials before number `asked`.
  const Observations& Update(TrialNumber asked, const TrialTable& table);

 private:
  /// A row that may still change, and what was learnt from it.
  struct Open {
    TrialNumber trial = 0;
    TrialState state = TrialState::kQueued;
    std::optional<double> objective;
  };

  void Take(const TrialRecord& trial);
  void TakeValue(const TrialRecord& trial, Coordinates at);
  void Forget(const Open& open);
  void CollectPending(const TrialTable& table);

  const Encoding& encoding_;
  Goal goal_;
  std::vector<Goal> further_;
  Observations known_;
  std::vector<Open> open_;
  std::vector<TrialNumber> failed_;  // the trials of known_.failed
  TrialNumber next_ = 0;
};

}  // namespace slipway::ensemble
