/// What the end of an attempt means for its trial: a pure decision.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ensemble/model/records.h"

namespace slipway::ensemble {

struct AttemptFacts {
  std::optional<ExitStatus> status;  ///< none: nobody saw one
  OutsideCause cause = OutsideCause::kNone;
  std::string detail;                        ///< what the runner says about a failure
  std::string last_line = {};                ///< of the log of the rank at fault; may be empty
  bool has_begun = true;                     ///< false: it still waited in its queue
  std::optional<StopReason> stop;            ///< what the manager asked for; wins over the exit status
  std::string stop_detail = {};              ///< why it asked: the scheduler's words, the time limit
  Objective objective;                       ///< the first of the study
  std::optional<double> value;               ///< of the objective
  std::optional<double> best_reported = {};  ///< where a value is to be reached: how near it came
  std::vector<std::string> reported = {};    ///< names of the metrics that this attempt reported, sorted
  std::string further_missing = {};          ///< a further objective without a finite value; empty: none
  bool is_whole = false;                     ///< it has reported all that a whole trial does
  int failures = 0;                          ///< earlier attempts that failed
  int retries = 0;                           ///< how many failures are forgiven
  int losses = 0;                            ///< earlier attempts that ended with their node, or ran without room
  bool start_failed_before = false;          ///< the attempt before could not be started
  bool as_before = false;                    ///< the attempt before ended with the same exit status after the same step
  bool has_moved_on = false;  ///< it has reported a step or an epoch beyond those of all earlier attempts
  bool may_end = true;        ///< false: it was told to stop, and is rather to go on
  bool may_wait = false;      ///< the scheduler lets trials wait where this one is
};

struct Verdict {
  TrialState attempt = TrialState::kComplete;
  TrialState trial = TrialState::kComplete;
  Outcome outcome = Outcome::kComplete;
  std::string reason;        ///< in words, beside the outcome's
  std::string missing = {};  ///< of kNoObjective: the metric without a value; empty: its value is not finite
  bool operator==(const Verdict&) const = default;
};

/// The reason where the outcome does not stand beside it: "out of memory: signal 9 (SIGKILL)".
std::string ReasonAlone(const Verdict& verdict);

/// A trial that came to its end by itself before it heard that it should stop has ended as if nobody had asked.
/// Complete: status 0 and a finite value of every objective. What a retry may cure is tried again while retries are
/// left: a signal, or another exit status unless the attempt before ended with the same one after the same step. What
/// it cannot cure is not: out of memory, no usable value, the trial's own time limit or that of its job, a job that
/// somebody cancelled. A start that fails before anything of the program has run is tried once more and is no failure,
/// but the second in a row is; a lost node is not the trial's failure, but the fifth is. An attempt that could write
/// nothing for a time proves nothing, whatever it reported, and is repeated; the fifth counts as it is. Stopped by the
/// user or the ensemble's time: queued, so that a resume runs it. A program that asks to go on later and has moved on
/// is paused where the scheduler lets trials wait, else queued again.
Verdict Judge(const AttemptFacts& facts);

/// "; it reported: epoch_time, loss"; of many names the first eight. Empty without any.
std::string ButReported(const std::vector<std::string>& names);

/// The exit status of a program that has saved its state and asks to go on later: 75.
bool AsksToGoOn(const std::optional<ExitStatus>& status);

/// Its manager died: not the trial's fault, so it is queued again and no failure is counted.
Verdict JudgeLost();

}  // namespace slipway::ensemble
