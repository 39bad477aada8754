/// What the end of an attempt means for its trial: a pure decision.
#pragma once

#include <optional>
#include <string>

#include "ensemble/records.h"

namespace slipway::ensemble {

struct AttemptFacts {
  std::optional<ExitStatus> status;  ///< none: it could not be started
  std::string detail;                ///< what the runner says about a failure
  std::optional<StopReason> stop;    ///< what the manager asked for; wins over the exit status
  std::string metric;                ///< name of the objective
  std::optional<double> objective;   ///< its last reported value
  int failures = 0;                  ///< earlier attempts that failed
  int retries = 0;                   ///< how many failures are forgiven
};

struct Verdict {
  TrialState attempt = TrialState::kComplete;
  TrialState trial = TrialState::kComplete;
  std::string reason;
  bool operator==(const Verdict&) const = default;
};

/// Complete: status 0 and a finite objective. A signal, another status, or no usable objective is a failure; the trial
/// is queued again while retries are left. Stopped for the time limit or by the user: queued, so that a resume runs it.
Verdict Judge(const AttemptFacts& facts);

/// Its manager died: not the trial's fault, so it is queued again and no failure is counted.
Verdict JudgeLost();

}  // namespace slipway::ensemble
