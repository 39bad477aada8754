/// What one round of the manager changes in the trial book: a value, written in one transaction.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ensemble/records.h"

namespace slipway::ensemble {

struct Changes {
  /// The manager will ask this attempt to end.
  struct Stop {
    TrialNumber trial = 0;
    int attempt = 1;
    StopReason reason = StopReason::kCancelled;
  };
  /// An attempt is over. `trial` stands for the trial's row as it becomes.
  struct End {
    int attempt = 1;
    TrialState attempt_state = TrialState::kComplete;
    std::optional<ExitStatus> status;
    std::string reason;
    TrialRecord trial;
  };
  /// An attempt will be prepared.
  struct Claim {
    TrialNumber trial = 0;
    int attempt = 1;
  };
  /// An attempt waits at its gate and will be released.
  struct Start {
    TrialNumber trial = 0;
    int attempt = 1;
    ProcessIdentity process;
  };

  double time = 0;   ///< seconds since 1970
  std::string host;  ///< of the manager
  std::vector<MetricRecord> metrics;
  std::vector<Stop> stops;
  std::vector<End> ends;
  std::vector<TrialRecord> trials;  ///< new ones
  std::vector<Claim> claims;
  std::vector<Start> starts;
  std::optional<std::string> remark;  ///< an event of the study itself: "resumed", "stop asked"

  bool Empty() const {
    return metrics.empty() && stops.empty() && ends.empty() && trials.empty() && claims.empty() && starts.empty() &&
           !remark;
  }
};

}  // namespace slipway::ensemble
