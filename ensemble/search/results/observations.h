/// What samplers learn from: the trials of a study as places in the unit cube.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ensemble/model/trial_table.h"
#include "ensemble/search/cube/encoding.h"

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
  std::vector<Coordinates> pending;               ///< queued, claimed, waiting or running
  std::vector<Coordinates> failed;                ///< trials that gave no value
  std::vector<std::string> pending_origins = {};  ///< TrialRecord::origin of each pending trial
};

/// Keeps the coordinates of all trials and looks again only at those whose rows were edited, whatever they were before:
/// what it holds is that of a log made anew.
/// Cost: of `Update`, one comparison for each trial; memory, one Coordinates for each trial.
class ObservationLog {
 public:
  /// `encoding` must outlive the log. `further`: the goals of the further objectives.
  ObservationLog(const Encoding& encoding, Goal goal, std::vector<Goal> further = {})
      : encoding_(encoding), goal_(goal), further_(std::move(further)) {}

  /// What is known of the trials before number `asked`. Always of the same table, which may have grown.
  const Observations& Update(TrialNumber asked, const TrialTable& table);

 private:
  enum class List { kComplete, kPending, kFailed };
  /// Which revision of a row was looked at, and the list that it is in since.
  struct Seen {
    std::uint32_t revision = 0;
    List list = List::kPending;
  };

  List Take(const TrialRecord& trial);
  void Forget(TrialNumber trial, List list);
  Observation ObservationOf(const TrialRecord& trial, Coordinates at) const;

  const Encoding& encoding_;
  Goal goal_;
  std::vector<Goal> further_;
  Observations known_;
  std::vector<TrialNumber> pending_;  // the trials of known_.pending
  std::vector<TrialNumber> failed_;   // the trials of known_.failed
  std::vector<Seen> seen_;            // one for each trial
};

}  // namespace slipway::ensemble
