/// Observations, from which samplers learn: the trials of a study as places in the unit cube.
#pragma once

#include <cstdint>
#include <span>
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
  std::vector<double> more;  ///< the further objectives of the study, in their order; lower is better
  std::string origin = {};   ///< TrialRecord::origin
};

/// The present rows, in the order of the trials' numbers. The order of their ends makes no difference, so the same set
/// of results leads to the same proposal.
struct Observations {
  /// Trials with a value. A trial that is paused or was ended early counts with its last value.
  std::vector<Observation> complete;
  std::vector<Coordinates> pending;               ///< queued, claimed, waiting or running
  std::vector<Coordinates> failed;                ///< trials that ended without a value
  std::vector<std::string> pending_origins = {};  ///< TrialRecord::origin of each pending trial
};

/// Keeps the observations of all trials. Update reads only rows that were edited, in whatever state they were before.
/// The result is the same as that of a new log.
/// Cost: of `Update`, one comparison for each trial; memory, one Coordinates for each trial.
class ObservationLog {
 public:
  /// `encoding` must outlive the log. `further`: the goals of the further objectives.
  ObservationLog(const Encoding& encoding, Goal goal, std::vector<Goal> further = {})
      : encoding_(encoding), goal_(goal), further_(std::move(further)) {}

  /// The observations of the trials before number `asked`. `table` must always be the same one; it may have grown.
  const Observations& Update(TrialNumber asked, const TrialTable& table);

 private:
  enum class List { kComplete, kPending, kFailed };
  /// The revision of a row that was read, and the list that holds its trial since.
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

/// Caches compare fingerprints to detect changes. Of the numbers and values of these trials; never 0. Cost: O(n).
std::uint64_t Fingerprint(std::span<const Observation> results);
/// The same, and of the pending and failed places. Cost: O(n + places * axes).
std::uint64_t Fingerprint(const Observations& known);

}  // namespace slipway::ensemble
