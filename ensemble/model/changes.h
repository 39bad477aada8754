/// The changes of one round of the manager to the trial book: a value, written in one transaction.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ensemble/model/records.h"

namespace slipway::ensemble {

struct Changes {
  /// The manager will ask this attempt to end.
  struct Stop {
    TrialNumber trial = 0;
    int attempt = 1;
    StopReason reason = StopReason::kCancelled;
    std::string why = {};  ///< the scheduler's reason, or the time limit
  };
  /// An attempt is over. `trial`: the trial's new row.
  struct End {
    int attempt = 1;
    TrialState attempt_state = TrialState::kComplete;
    Outcome outcome = Outcome::kComplete;
    std::optional<ExitStatus> status;
    std::string reason;
    TrialRecord trial;
    std::optional<int> rank = {};
    std::string missing = {};
  };
  /// An attempt will be prepared.
  struct Claim {
    TrialNumber trial = 0;
    int attempt = 1;
    std::vector<AllocatedNode> place = {};
    int nodes = 1;
  };
  /// An attempt waits at its gate and will be released. Without a process: a caller of AskTell runs it.
  struct Start {
    TrialNumber trial = 0;
    int attempt = 1;
    std::optional<ProcessIdentity> process;
  };
  /// An attempt will be handed to a queue, which may outlive this machine. A Begin follows.
  struct Queue {
    TrialNumber trial = 0;
    int attempt = 1;
  };
  /// An attempt that waited in a queue runs.
  struct Begin {
    TrialNumber trial = 0;
    int attempt = 1;
    double time = 0;  ///< when it began; seconds since 1970
  };

  /// A request from outside (`slipway trials enqueue`, `retry`) was carried out or refused.
  struct Answer {
    std::string name;  ///< of the request, unique in the study
    RequestAnswer answer;
  };

  double time = 0;   ///< seconds since 1970
  std::string host;  ///< of the manager
  std::vector<MetricRecord> metrics;
  std::vector<Stop> stops;
  std::vector<Begin> begins;
  std::vector<End> ends;
  std::vector<TrialRecord> trials;  ///< new ones
  std::vector<Claim> claims;
  std::vector<Start> starts;
  std::vector<Queue> queued;
  std::vector<TrialRecord> finished;  ///< new ones that need no attempt: imported, or not worth running
  std::vector<TrialRecord> settled;   ///< queued ones that end without another attempt
  std::vector<TrialNumber> requeued;  ///< final ones that run again
  std::vector<RungRecord> rungs;
  std::vector<Answer> answers;
  std::optional<std::string> remark;  ///< an event of the study itself: "resumed", "stop asked"

  bool Empty() const {
    return metrics.empty() && stops.empty() && begins.empty() && ends.empty() && trials.empty() && claims.empty() &&
           starts.empty() && queued.empty() && finished.empty() && settled.empty() && requeued.empty() &&
           rungs.empty() && answers.empty() && !remark;
  }
};

}  // namespace slipway::ensemble
